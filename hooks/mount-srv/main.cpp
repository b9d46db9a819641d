// SPDX-License-Identifier: Apache-2.0
#include "mount-srv/directory_hook.h"

int main(int argc, char **argv)
{
    return ogh::run_hook("mount-srv", "Gives a container directories of the host",
                         [&](ogh::Hook &hook) { ogh::mount_srv::run(hook, argc, argv); });
}
