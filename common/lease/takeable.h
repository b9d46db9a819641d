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
#include "lease/presence.h"
#include "lease/processes.h"

namespace ogh {

// One question: may somebody else have what a container has? The signs are looked for, the answer is pure:
//
//     init has      init only waits   another    another has     may be taken, as             from
//     been started  for others        is there   ever been there
//     no            -                 -          -               NeverStarted                 taken + begin_within
//     yes           yes               no         no              NotBegun                     taken + begin_within
//     yes           yes               no         yes             Idle                         idle_ns + idle_after
//     yes           yes               yes        -               not: it works, until another look
//     yes           no                -          -               not: its first program is its work
//     -             -                 -          -               HeldTooLong, if it has a limit and is none of those now
//
// An init only waits if it is called so (PreemptionPolicy::idle_inits) and has a pid namespace and a cgroup of its own. What
// cannot be told is to the good of the container.

/** When a container has to let another one have what it does not use. */
struct PreemptionPolicy {
    bool is_allowed = true;
    std::vector<std::string> idle_inits = {
        "/tmp/gdn-init"}; ///< programs that only wait for others to be started
    std::chrono::nanoseconds idle_after = std::chrono::seconds(1); ///< since nothing runs in it any more
    std::chrono::nanoseconds begin_within =
        std::chrono::minutes(2); ///< since it got its lease, where nothing has run in it
};

/** How a container looks now, besides what stands in the state. */
struct Signs {
    bool has_started = true;                         ///< its init has executed the container's program
    bool only_waits = false;                         ///< init does nothing but wait for others
    std::optional<UniqueFd> company = {};            ///< a process besides its init; may be not valid
    std::optional<std::uint64_t> others_cpu_ns = {}; ///< as cpu_of_others(), where there is no such process
};

/** Looks at a container, as closely as it takes to know whether it may be taken from. */
Signs look_at(const Processes &processes, const Allocation &allocation, const PreemptionPolicy &policy);

/** Notes what the next look has to know of this one: whether something has run, and since when nothing does. Pure. */
void note_look(Allocation &allocation, const Signs &signs, std::int64_t now);

enum class TakeReason {
    NeverStarted, ///< it was created, and nobody has started it
    NotBegun,     ///< nothing has ever run beside an init that only waits
    Idle,         ///< nothing runs any more beside such an init
    HeldTooLong,  ///< by its limit, whatever it does; only who waits may end it for that
};

/** That what a container has may be another one's, and from when. */
struct Takeable {
    TakeReason why;
    std::int64_t from_ns;       ///< CLOCK_BOOTTIME
    std::int64_t look_again_ns; ///< the same, or earlier where that may come sooner than it seems

    bool operator==(const Takeable &) const = default;
};

/**
 * The table. Pure.
 * @param allocation as note_look() leaves it
 * @param now CLOCK_BOOTTIME, ns
 * @return nothing of one from which nobody may take
 */
std::optional<Takeable> takeable_of(const Allocation &allocation, const PreemptionPolicy &policy,
                                    const Signs &signs, std::int64_t now);

using Takeables = std::map<ProcessId, Takeable>; ///< by init

/**
 * The same of several, by looking at them; what is seen is noted in the state. Those from whom somebody is taking are none.
 * @param holders their inits
 * @param end what keeps one from being idle is added, a pidfd, or when to look again where that cannot be held
 */
Takeables look_for_takeables(const Processes &processes, LeaseState &state,
                             const std::set<ProcessId> &holders, const PreemptionPolicy &policy,
                             SleepEnd &end, std::int64_t now);

/** "it was idle" */
const char *to_word(TakeReason why);

} // namespace ogh
