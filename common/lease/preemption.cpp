// SPDX-License-Identifier: Apache-2.0
#include "lease/preemption.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/error.h"
#include "base/text.h"
#include "lease/lease_changes.h"
#include "lease/presence.h"
#include "lease/wait.h"

namespace ogh {

namespace {

constexpr int between_looks_ms = 100;

/** Much more than the end of 31 processes takes; what holds one up longer is a call that no signal ends. */
constexpr int end_limit_ms = 5000;

/** Whether it may be idle once its lease is old enough. */
bool may_become_idle(const Holder &holder, const PreemptionPolicy &policy)
{
    return policy.is_allowed && holder.own_pid_namespace && holder.cgroup &&
           std::find(policy.idle_inits.begin(), policy.idle_inits.end(), holder.program) !=
               policy.idle_inits.end();
}

/** CLOCK_BOOTTIME, ns. */
std::int64_t idle_from(const Allocation &allocation, const PreemptionPolicy &policy)
{
    return allocation.taken_ns + policy.idle_after.count();
}

} // namespace

bool may_be_idle(const Allocation &allocation, const PreemptionPolicy &policy, std::int64_t now)
{
    return may_become_idle(allocation.holder, policy) && idle_from(allocation, policy) <= now;
}

PreemptionPlan plan_preemption(const LeaseState &state, const Claim &claim, const Obstacles &obstacles,
                               const PreemptionPolicy &policy, std::int64_t now)
{
    PreemptionPlan plan;
    LeaseState without = state;
    std::vector<const Allocation *> idle;
    for (const Allocation &allocation : state.allocations) {
        if (!obstacles.holders.contains(allocation.holder.init) ||
            !may_become_idle(allocation.holder, policy))
            continue;
        const std::int64_t from = idle_from(allocation, policy);
        if (from > now) {
            plan.look_again = std::min(from, plan.look_again.value_or(from));
            continue;
        }
        idle.push_back(&allocation);
        remove_holder(without, allocation.holder.init);
    }
    if (idle.empty() || !decide(without, claim, now).granted)
        return plan;
    // Whoever can stay does, those that came last first; a device and a quota may be free by the end of others.
    for (auto one = idle.rbegin(); one != idle.rend(); ++one) {
        without.allocations.push_back(**one);
        if (decide(without, claim, now).granted)
            continue;
        without.allocations.pop_back();
        plan.holders.push_back((*one)->holder);
    }
    std::reverse(plan.holders.begin(), plan.holders.end());
    return plan;
}

bool is_alone(const Processes &processes, const Holder &holder)
{
    return holder.cgroup && !find_another(processes, *holder.cgroup, holder.init.pid);
}

Preemption preempt(const Processes &processes, const Holder &holder)
{
    const auto init = processes.find(holder.init);
    if (!init)
        return {true, {}};
    for (int look = 0; look < 2; ++look) {
        if (auto another = find_another(processes, *holder.cgroup, holder.init.pid))
            return {false, std::move(*another)};
        if (look == 0 && ends_within_ms(init->get(), between_looks_ms))
            return {true, {}};
    }
    if (::syscall(SYS_pidfd_send_signal, init->get(), SIGKILL, nullptr, 0) != 0 && errno != ESRCH)
        throw SystemError(errno, "cannot end the idle container " + quote(holder.container),
                          ErrorKind::BrokenHost);
    if (!ends_within_ms(init->get(), end_limit_ms))
        throw Error(ErrorKind::BrokenHost, "the idle container " + quote(holder.container) +
                                               " does not end (pid " + std::to_string(holder.init.pid) + ")");
    return {true, {}};
}

} // namespace ogh
