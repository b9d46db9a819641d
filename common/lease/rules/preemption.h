// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "lease/rules/lease_rules.h"
#include "lease/state/lease_state.h"

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
// An init only waits if it is Concourse's (concourse_init) and has a pid namespace and a cgroup of its own. What cannot be told
// is to the good of the container.

/** When a container has to let another one have what it does not use. */
struct PreemptionPolicy {
    bool is_allowed = true;
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

/** Notes what the next look has to know of this one: whether something has run, and since when nothing does. Pure. */
void note_look(Allocation &allocation, const Signs &signs, std::int64_t now);

enum class PreemptReason {
    NeverStarted, ///< it was created, and nobody has started it
    NotBegun,     ///< nothing has ever run beside an init that only waits
    Idle,         ///< nothing runs any more beside such an init
    HeldTooLong,  ///< by its limit, whatever it does; only who waits may end it for that
};

/** That what a container has may be another one's, and from when. */
struct Preemptible {
    PreemptReason why;
    std::int64_t from_ns;       ///< CLOCK_BOOTTIME
    std::int64_t look_again_ns; ///< the same, or earlier where that may come sooner than it seems

    bool operator==(const Preemptible &) const = default;
};

/**
 * The table. Pure.
 * @param allocation as note_look() leaves it
 * @param now CLOCK_BOOTTIME, ns
 * @return nothing of one from which nobody may take
 */
std::optional<Preemptible> preemptible_of(const Allocation &allocation, const PreemptionPolicy &policy,
                                          const Signs &signs, std::int64_t now);

using Preemptibles = std::map<ProcessId, Preemptible>; ///< by init

/** "it was idle" */
const char *to_word(PreemptReason why);

/** What is to be done to a container that has what another one may have. */
struct PreemptStep {
    Holder holder;
    PreemptReason why = PreemptReason::Idle;
    std::optional<int> signal = {}; ///< that asks it to end; nothing: it is taken from, or ended
    bool is_left_alive = false;     ///< its devices alone are taken, see eviction.h
};

/** What is to be done now, and when to look again; pure. */
struct PreemptPlan {
    std::vector<PreemptStep>
        steps; ///< with what these have the request could be granted; empty: nothing is to be done
    std::optional<std::int64_t> look_again; ///< CLOCK_BOOTTIME, ns: when more may be done
};

/**
 * Whether the request could be granted with what others may have to let it have. Nobody is overtaken by it, and nobody is
 * taken from for nothing. One that ends as a whole, and of whose devices the rules are known, is left alive, but for one
 * that has had them for too long: who has a limit is asked to end first, once, and has some time left then; meanwhile
 * nobody is taken from for the same request.
 * @param preemptibles of who is in the way
 */
PreemptPlan plan_preemption(const LeaseState &state, const Claim &claim, const Preemptibles &preemptibles,
                            std::int64_t now);

/**
 * Writes down whom the plan asks to end, for who waits next, and from whom this process is taking. Before it is done: nobody
 * is asked twice, and nothing is taken that is not marked.
 * @param own this process
 */
void note_steps(LeaseState &state, const PreemptPlan &plan, const ProcessId &own, std::int64_t now);

/** What is said of it when it is done: "asked the container "c" to end …". */
std::string to_text(const PreemptStep &step);

} // namespace ogh
