// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lease/lease_state.h"
#include "lease/processes.h"

namespace ogh {

/** When a container that does nothing may be ended, for another one that wants its GPU. */
struct PreemptionPolicy {
    bool is_allowed = true;
    std::vector<std::string> idle_inits = {
        "/tmp/gdn-init"}; ///< programs that only wait for others to be started
    // Since the container got its lease:
    std::chrono::nanoseconds idle_after = std::chrono::seconds(10);
    std::chrono::nanoseconds begin_within = std::chrono::minutes(10); ///< where nothing has run in it yet
    std::chrono::nanoseconds start_within = std::chrono::seconds(60); ///< of one that has only been created
};

/** How a container looks now, besides what stands in the state. */
struct Signs {
    bool has_started = true; ///< its init has executed the container's program
    bool has_begun = true; ///< other processes have run in it since it got its lease, or that cannot be told
    std::optional<UniqueFd> company = {}; ///< a process besides its init; may be not valid
};

/**
 * Looks at a container, as closely as it takes to know whether it may be ended now. What cannot be told is to its good.
 * @param now CLOCK_BOOTTIME, ns
 */
Signs look_at(const Processes &processes, const Allocation &allocation, const PreemptionPolicy &policy,
              std::int64_t now);

enum class EndReason {
    NeverStarted, ///< it was created, and nobody has started it
    Idle,         ///< all that it has is an init that only waits
    HeldTooLong,  ///< by its limit, whatever it does; only who waits may end it for that
};

/** That a container may be ended for another one, and from when. */
struct Ending {
    EndReason why;
    std::int64_t from_ns;       ///< CLOCK_BOOTTIME
    std::int64_t look_again_ns; ///< the same, or earlier where that may come sooner than it seems

    bool operator==(const Ending &) const = default;
};

/**
 * Why a container may be ended, now or later: that it does nothing, if it may be for that now; else what comes first. Pure.
 * @return nothing of one that nobody may end
 */
std::optional<Ending> ending_of(const Allocation &allocation, const PreemptionPolicy &policy,
                                const Signs &signs, std::int64_t now);

using Endings = std::map<ProcessId, Ending>; ///< by init

/**
 * The same of several, by looking at them.
 * @param holders their inits
 * @param watched what keeps one from being idle is added, a pidfd
 */
Endings look_for_endings(const Processes &processes, const LeaseState &state,
                         const std::set<ProcessId> &holders, const PreemptionPolicy &policy,
                         std::vector<UniqueFd> &watched, std::int64_t now);

} // namespace ogh
