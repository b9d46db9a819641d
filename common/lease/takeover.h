// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lease/lease_rules.h"
#include "lease/processes.h"
#include "lease/takeable.h"

namespace ogh {

/** What is to be done to a container that has what another one may have. */
struct TakeStep {
    Holder holder;
    TakeReason why = TakeReason::Idle;
    std::optional<int> signal = {}; ///< that asks it to end; nothing: it is taken from, or ended
    bool is_left_alive = false;     ///< its devices alone are taken, see revocation.h
};

/** What is to be done now, and when to look again; pure. */
struct TakePlan {
    std::vector<TakeStep>
        steps; ///< with what these have the request could be granted; empty: nothing is to be done
    std::optional<std::int64_t> look_again; ///< CLOCK_BOOTTIME, ns: when more may be done
};

/**
 * Whether the request could be granted with what others may have to let it have. Nobody is overtaken by it, and nobody is
 * taken from for nothing. One that ends as a whole, and of whose devices the rules are known, is left alive, but for one
 * that has had them for too long: who has a limit is asked to end first, once, and has some time left then; meanwhile
 * nobody is taken from for the same request.
 * @param takeables of who is in the way
 */
TakePlan plan_takeover(const LeaseState &state, const Claim &claim, const Takeables &takeables,
                       std::int64_t now);

/**
 * Writes down whom the plan asks to end, for who waits next, and from whom this process is taking. Before it is done: nobody
 * is asked twice, and nothing is taken that is not marked.
 * @param own this process
 */
void note_steps(LeaseState &state, const TakePlan &plan, const ProcessId &own, std::int64_t now);

/** What became of a container. */
struct Preemption {
    bool has_ended = false;
    UniqueFd busy_with; ///< a process of it that keeps it from being idle; may be not valid
};

/**
 * Asks it to end; or ends it, and waits for that. One that was idle is looked at again, 100 ms later; one that was never
 * started must not have been since.
 * @throws Error (BrokenHost) if it does not end
 */
Preemption preempt(const Processes &processes, const TakeStep &step);

/** What was done, for the log: "asked the container "c" to end …". */
std::string to_text(const TakeStep &step);

} // namespace ogh
