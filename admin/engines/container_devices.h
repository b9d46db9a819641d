// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "edits/device_rule.h"
#include "host/sysroot.h"

namespace ogh::admin {

/** A node of a GPU, or of what goes with it, in a container's /dev. */
struct ContainerNode {
    std::string path; ///< inside
    DeviceRule rule;  ///< its number, to be read and written
};

/** Those in /dev of that root, by name; nothing is opened, and what is no character device is left out. */
std::vector<ContainerNode> gpu_nodes(const Sysroot &root);

/** The same of a process's root, none if it has ended. */
std::vector<ContainerNode> gpu_nodes_of(const Sysroot &sysroot, pid_t pid);

} // namespace ogh::admin
