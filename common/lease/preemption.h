// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lease/lease_rules.h"
#include "lease/processes.h"

namespace ogh {

/** When a container that does nothing may be ended, for another one that wants its GPU. */
struct PreemptionPolicy {
    bool is_allowed = true;
    std::vector<std::string> idle_inits = {
        "/tmp/gdn-init"}; ///< programs that only wait for others to be started
    std::chrono::nanoseconds idle_after = std::chrono::seconds(10); ///< since it got its lease
};

/** Whether it may be idle, by what stands in the state: that is left to look whether it has other processes. Pure. */
bool may_be_idle(const Allocation &allocation, const PreemptionPolicy &policy, std::int64_t now);

/** Which containers it takes, and when to look again; pure. */
struct PreemptionPlan {
    std::vector<Holder> holders; ///< with their end the request could be granted; empty: no preemption
    std::optional<std::int64_t> look_again; ///< CLOCK_BOOTTIME, ns: when one more may be idle
};

/**
 * Whether the request could be granted if idle containers ended. One may be idle whose init is one of the idle ones and
 * the first of a pid namespace of its own, if its cgroup is known and its lease is old enough. Nobody is overtaken by it,
 * and nobody is taken whose end would not do.
 */
PreemptionPlan plan_preemption(const LeaseState &state, const Claim &claim, const Obstacles &obstacles,
                               const PreemptionPolicy &policy, std::int64_t now);

/** What became of a container that might be idle. */
struct Preemption {
    bool has_ended = false;
    UniqueFd busy_with; ///< a process of it that keeps it from being idle; may be not valid
};

/**
 * Ends a container if it has no process but its init, which is looked at twice, 100 ms apart, and waits for its end.
 * @throws Error (BrokenHost) if it does not end
 */
Preemption preempt(const Processes &processes, const Holder &holder);

/** Whether the container has no process but its init now. */
bool is_alone(const Processes &processes, const Holder &holder);

} // namespace ogh
