// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "host/sysroot.h"
#include "nvidia-devices/host/inventory.h"

namespace ogh::nvidia_devices {

/** A node, or the folder of nvidia-caps with its nodes, that NVIDIA's library opens. */
struct QueryNode {
    UniqueFd fd;      ///< O_PATH
    std::string path; ///< "/dev/nvidia0"
};

/**
 * What NVIDIA's library needs of /dev to say what it calls the instances of GPUs: it counts all GPUs that it can open. It
 * runs as nobody.
 * @throws Error (BrokenHost) if a node that is needed is not there, is another device, or not for everybody
 */
std::vector<QueryNode> open_query_nodes(const Sysroot &sysroot, const Inventory &inventory);

} // namespace ogh::nvidia_devices
