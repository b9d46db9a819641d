// SPDX-License-Identifier: Apache-2.0
#include <linux/capability.h>

#include <vector>

#include "cdi-devices/device_hook.h"
#include "cgroup/device_cgroups.h"

int main(int argc, char **argv)
{
    std::vector<unsigned> linux_capabilities(ogh::device_cgroup_capabilities.begin(),
                                             ogh::device_cgroup_capabilities.end());
    linux_capabilities.push_back(CAP_MKNOD);
    linux_capabilities.push_back(CAP_KILL); // to end an idle container for one that wants its device
    return ogh::run_hook(
        "cdi-devices", "Gives a container devices by their CDI specifications",
        [&](ogh::Hook &hook) { ogh::cdi_devices::run(hook, argc, argv); }, linux_capabilities);
}
