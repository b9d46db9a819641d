// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "lease/gpu_users.h"

namespace ogh {

/** The nodes of GPUs, by major and minor number. */
using GpuNodes = std::map<std::pair<unsigned, unsigned>, LeaseKey>;

/** What is looked for among the files that processes have open. */
struct DriverNodes {
    GpuNodes gpus;
    std::set<unsigned> majors;                       ///< of all nodes of the driver's, those above included
    std::set<std::pair<unsigned, unsigned>> foreign; ///< another driver's, with one of these majors
    /** How many files are open of these by the kernel's own count; nothing if it does not say. */
    std::function<std::optional<std::size_t>()> count_open = [] { return std::optional<std::size_t>(); };
};

/** How much of a processor's time it may take to find out who uses GPUs. */
constexpr std::chrono::milliseconds look_for_users{200};

/** How many descriptors of a user's are looked at, who is not root: about 10 ms. */
constexpr std::size_t most_of_a_user = 8192;

/**
 * The processes of the host that have a node of a GPU open, by the descriptors of each thread that has some of its own. What
 * they are is told by the device's number, whatever it is called and wherever it is mounted. Nothing is opened but in
 * procfs, and no filesystem is asked (AT_STATX_DONT_SYNC). Takes about 1 µs a descriptor.
 *
 * Where more of these files are open than were found, GPUs count as filled, by who has more descriptors than are looked at,
 * or else by somebody who cannot be seen: as with a descriptor that is on its way through a socket. Where the kernel does not
 * count, by the former alone.
 * @return not known where that takes longer than `most`, or processes may not be looked at, and files are missing
 */
GpuUsers find_node_users(const Processes &processes, const DriverNodes &nodes, const Monitors &monitors,
                         std::chrono::nanoseconds most = look_for_users);

} // namespace ogh
