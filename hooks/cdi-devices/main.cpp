// SPDX-License-Identifier: Apache-2.0
#include <linux/capability.h>

#include "cdi-devices/device_hook.h"

int main(int argc, char **argv)
{
    return ogh::run_hook("cdi-devices", "Gives a container devices by their CDI specifications",
                         [&](ogh::Hook &hook) { ogh::cdi_devices::run(hook, argc, argv); }, {CAP_MKNOD});
}
