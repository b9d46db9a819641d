// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lease/ending.h"
#include "lease/lease_rules.h"
#include "lease/processes.h"

namespace ogh {

/** What is to be done to a container that may be ended. */
struct EndStep {
    Holder holder;
    EndReason why = EndReason::Idle;
    std::optional<int> signal = {}; ///< that asks it to end; nothing: it is ended
};

/** What is to be done now, and when to look again; pure. */
struct PreemptionPlan {
    std::vector<EndStep>
        steps; ///< with the end of these the request could be granted; empty: nothing is to be done
    std::optional<std::int64_t> look_again; ///< CLOCK_BOOTTIME, ns: when more may be done
};

/**
 * Whether the request could be granted if containers ended that may be ended. Nobody is overtaken by it, and nobody is
 * taken whose end would not do. Who has a limit is asked to end first, once, and has some time left then; meanwhile
 * nobody is ended for the same request.
 * @param endings of who is in the way
 */
PreemptionPlan plan_preemption(const LeaseState &state, const Claim &claim, const Endings &endings,
                               std::int64_t now);

/** Writes down whom the plan asks to end, for who waits next. Before they are asked: nobody is asked twice. */
void note_asked(LeaseState &state, const PreemptionPlan &plan, std::int64_t now);

/** What became of a container. */
struct Preemption {
    bool has_ended = false;
    UniqueFd busy_with; ///< a process of it that keeps it from being idle; may be not valid
};

/**
 * Does it, and waits for the end of a container that is ended. One that was idle is looked at again, 100 ms later; one that
 * was never started must not have been since.
 * @throws Error (BrokenHost) if it does not end
 */
Preemption preempt(const Processes &processes, const EndStep &step);

/** "it was idle" */
const char *to_word(EndReason why);

/** What was done, for the log: "asked the container "c" to end …". */
std::string to_text(const EndStep &step);

} // namespace ogh
