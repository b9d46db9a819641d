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

/** The first line, with the version behind it. */
constexpr std::string_view lease_file_heading = "oci-gpu-hooks leases ";

/** What stands in the file for one of two values. */
struct LeaseChoice {
    std::string_view yes, no;
};
constexpr LeaseChoice exclusive_or_shared = {"exclusive", "shared"};
constexpr LeaseChoice own_or_joined = {"own", "joined"}; ///< the pid namespace

/**
 * Reads the state file: lines of words (see LeaseWords), of these kinds and in this order; what people chose comes last.
 *
 *     oci-gpu-hooks leases 1
 *     space BOOT PID-NAMESPACE START
 *     uses NUMBER
 *     numbers NUMBER
 *     holding TAKEN SINCE COUNT {MODE KEY}... HOLDER
 *     request NAME DEVICES
 *     ticket NUMBER PID START DEADLINE SINCE MODE FIXED ANY CANDIDATES HOLDER
 *     drain SINCE KEY
 *     used USE KEY
 *     end
 *
 * A request is one of the holding above it. HOLDER is PID START own|joined CGROUP-INODE CONTROLLER CGROUP CONTAINER PROGRAM. A state has one text only.
 * @throws Error (Host) if that is no such text, of another version, or says what cannot be
 */
LeaseFile parse_lease_file(std::string_view text);

} // namespace ogh
