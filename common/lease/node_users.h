// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "lease/gpu_users.h"

namespace ogh {

/** The nodes of GPUs, by major and minor number. */
using GpuNodes = std::map<std::pair<unsigned, unsigned>, LeaseKey>;

/** How much of a processor's time it may take to find out who uses GPUs. */
constexpr std::chrono::milliseconds look_for_users{200};

/**
 * The processes of the host that have a node of a GPU open, by /proc/PID/fd. Nothing is opened but in procfs, and no
 * filesystem is asked: what a descriptor is called is read first, and of what is called as a node is, what it is. Takes
 * about 2 µs a descriptor.
 * @param name what the names of the nodes begin with, before a number: "nvidia"
 * @return not known where that takes longer than `most`, or processes may not be looked at
 */
GpuUsers find_node_users(const Processes &processes, const GpuNodes &nodes, const std::string &name,
                         const Monitors &monitors, std::chrono::nanoseconds most = look_for_users);

} // namespace ogh
