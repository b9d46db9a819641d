// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lease/lease_state.h"

namespace ogh {

/** Where and when numbers of processes mean something. */
struct ProcessSpace {
    std::string boot;                ///< /proc/sys/kernel/random/boot_id
    std::uint64_t pid_namespace = 0; ///< its inode, which another one may have had before
    std::uint64_t start_time = 0;    ///< of its process 1, in clock ticks since boot

    bool operator==(const ProcessSpace &) const = default;
};

/** What the state file says: the state, and what the pids in it mean. */
struct LeaseFile {
    ProcessSpace space;
    LeaseState state;

    bool operator==(const LeaseFile &) const = default;
};

constexpr unsigned lease_file_version = 1;

/** In bytes: some thousands of containers. */
constexpr size_t max_lease_file = size_t{4} << 20U;

/** The text of the file: JSON, the same for the same state. What is no UTF-8 is escaped. */
std::string to_text(const LeaseFile &file);

/** @throws Error (Host) if that is no such text, of another version, or says what cannot be */
LeaseFile parse_lease_file(std::string_view text);

} // namespace ogh
