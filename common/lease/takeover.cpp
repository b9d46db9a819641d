// SPDX-License-Identifier: Apache-2.0
#include "lease/takeover.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/error.h"
#include "base/text.h"
#include "kernel/pidfd.h"
#include "lease/boot_clock.h"
#include "lease/container_cgroup.h"
#include "lease/lease_changes.h"
#include "lease/presence.h"

namespace ogh {

namespace {

constexpr int between_looks_ms = 100;

/** Much more than the end of some thousand processes takes; what holds one up longer is a call that no signal ends. */
constexpr std::int64_t end_limit_ns = 5'000'000'000;

/** Until when it has time to end by itself; nothing if it is ended at once. */
std::optional<std::int64_t> end_of_grace(const Allocation &allocation, const Takeable &takeable,
                                         std::int64_t now)
{
    if (takeable.why != TakeReason::HeldTooLong)
        return std::nullopt;
    const std::int64_t end = allocation.limit->asked_ns.value_or(now) + allocation.limit->grace_ns;
    return end > now || !allocation.limit->asked_ns ? std::optional(end) : std::nullopt;
}

/** Of those that may be ended now, as they came, who has to be: the end of the others would be for nothing. */
std::vector<const Allocation *> needed(const LeaseState &state, const Claim &claim,
                                       const Takeables &takeables, std::int64_t now)
{
    LeaseState without = state;
    std::vector<const Allocation *> all;
    for (const Allocation &allocation : state.allocations) {
        const auto takeable = takeables.find(allocation.holder.init);
        if (takeable == takeables.end() || takeable->second.from_ns > now)
            continue;
        all.push_back(&allocation);
        remove_holder(without, allocation.holder.init);
    }
    if (all.empty() || !decide(without, claim, now).granted)
        return {};
    // Whoever can stay does, those that came last first; a device and a quota may be free by the end of others.
    std::vector<const Allocation *> found;
    for (auto one = all.rbegin(); one != all.rend(); ++one) {
        without.allocations.push_back(**one);
        if (decide(without, claim, now).granted)
            continue;
        without.allocations.pop_back();
        found.push_back(*one);
    }
    std::reverse(found.begin(), found.end());
    return found;
}

/** The signal goes to just this process, or to none. */
void send(const UniqueFd &process, int signal, const Holder &holder)
{
    if (::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) != 0 && errno != ESRCH)
        throw SystemError(errno, "cannot end the container " + quote(holder.container),
                          ErrorKind::BrokenHost);
}

/** With a pid namespace of its own it ends with its init; else each of its processes is to be ended. */
void kill_all(const Processes &processes, const Holder &holder)
{
    const std::int64_t limit = boottime_ns() + end_limit_ns;
    while (const auto process = find_container(processes, holder)) {
        const std::int64_t left_ms = (limit - boottime_ns()) / 1'000'000;
        if (process->valid()) {
            send(*process, SIGKILL, holder);
            thaw(processes, holder); // now, so that it does nothing more
            if (!has_ended(process->get(), between_looks_ms))
                thaw_all(processes, holder); // its init ends last
        } else {
            ::usleep(1000); // it is on its way out of the cgroup
        }
        if (left_ms <= 0)
            throw Error(ErrorKind::BrokenHost,
                        "the container " + quote(holder.container) + " does not end (pid " +
                            std::to_string(holder.init.pid) +
                            (is_frozen(processes, holder.init.pid) ? ", paused)" : ")"));
    }
}

/** @return whether it is still idle, or has ended meanwhile. */
bool is_still_idle(const Processes &processes, const Holder &holder, const UniqueFd &init,
                   UniqueFd &busy_with)
{
    if (has_ended(init.get(), between_looks_ms))
        return true;
    auto another = find_company(processes, holder);
    if (another)
        busy_with = std::move(*another);
    return !another;
}

} // namespace

TakePlan plan_takeover(const LeaseState &state, const Claim &claim, const Takeables &takeables,
                       std::int64_t now)
{
    TakePlan plan;
    const auto look_at = [&](std::int64_t when) {
        plan.look_again = std::min(when, plan.look_again.value_or(when));
    };
    for (const auto &[init, takeable] : takeables) {
        if (takeable.from_ns > now)
            look_at(takeable.look_again_ns);
    }
    bool has_time_left = false;
    for (const Allocation *one : needed(state, claim, takeables, now)) {
        const Takeable &takeable = takeables.at(one->holder.init);
        const auto grace = end_of_grace(*one, takeable, now);
        const Holder &holder = one->holder;
        TakeStep step{holder, takeable.why};
        step.is_left_alive = takeable.why != TakeReason::HeldTooLong && one->rules && !one->rules->empty() &&
                             holder.cgroup && holder.own_pid_namespace;
        if (grace) {
            has_time_left = true;
            look_at(*grace);
            if (one->limit->asked_ns)
                continue;
            step.signal = one->limit->signal;
        }
        plan.steps.push_back(std::move(step));
    }
    if (has_time_left)
        std::erase_if(plan.steps, [](const TakeStep &step) { return !step.signal; });
    return plan;
}

void note_steps(LeaseState &state, const TakePlan &plan, const ProcessId &own, std::int64_t now)
{
    for (Allocation &allocation : state.allocations) {
        for (const TakeStep &step : plan.steps) {
            if (step.holder.init != allocation.holder.init)
                continue;
            if (step.signal)
                allocation.limit->asked_ns = now;
            if (step.is_left_alive)
                allocation.taker = own;
        }
    }
}

Preemption preempt(const Processes &processes, const TakeStep &step)
{
    const Holder &holder = step.holder;
    Preemption result;
    const auto init = processes.find(holder.init);
    if (step.signal) {
        // The first process of a pid namespace gets only what it has a handler for, or takes by signalfd: the kernel
        // sees to it, pid_namespaces(7).
        if (init)
            send(*init, *step.signal, holder);
        return result;
    }
    if (!init && step.why != TakeReason::HeldTooLong)
        return {true, {}};
    const bool was_idle = step.why == TakeReason::Idle || step.why == TakeReason::NotBegun;
    if (was_idle && !is_still_idle(processes, holder, *init, result.busy_with))
        return result;
    if (step.why == TakeReason::NeverStarted &&
        !has_executed_nothing(processes.read(holder.init.pid, "stat").value_or("")))
        return result;
    kill_all(processes, holder);
    return {true, {}};
}

std::string to_text(const TakeStep &step)
{
    const std::string container = " the container " + quote(step.holder.container);
    if (step.signal)
        return "asked" + container + " to end by signal " + std::to_string(*step.signal) +
               " for this one: it has its GPU for longer than it may";
    return "ended" + container + " for this one: " + to_word(step.why);
}

} // namespace ogh
