// SPDX-License-Identifier: Apache-2.0
#include "lease/rules/preemption.h"

#include <algorithm>

#include "base/text.h"
#include "lease/state/lease_changes.h"

namespace ogh {

namespace {

/** How often one is looked at in which something may begin and end again unseen; in ns, at least. */
constexpr std::int64_t between_looks_ns = 1'000'000'000;

/** More than what the clocks differ by, and far less than it takes to start a program in a container. */
constexpr std::uint64_t beginning_ns = 5'000'000;

/** Until when it has time to end by itself; nothing if it is ended at once. */
std::optional<std::int64_t> end_of_grace(const Allocation &allocation, const Preemptible &preemptible,
                                         std::int64_t now)
{
    if (preemptible.why != PreemptReason::HeldTooLong)
        return std::nullopt;
    const std::int64_t end = allocation.limit->asked_ns.value_or(now) + allocation.limit->grace_ns;
    return end > now || !allocation.limit->asked_ns ? std::optional(end) : std::nullopt;
}

/** Of those that may be ended now, as they came, who has to be: the end of the others would be for nothing. */
std::vector<const Allocation *> needed(const LeaseState &state, const Claim &claim,
                                       const Preemptibles &preemptibles, std::int64_t now)
{
    LeaseState without = state;
    std::vector<const Allocation *> all;
    for (const Allocation &allocation : state.allocations) {
        const auto preemptible = preemptibles.find(allocation.holder.init);
        if (preemptible == preemptibles.end() || preemptible->second.from_ns > now)
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

} // namespace

void note_look(Allocation &allocation, const Signs &signs, std::int64_t now)
{
    if (!signs.has_started || !signs.only_waits)
        return;
    if (signs.company) {
        allocation.has_begun = allocation.has_begun || signs.company->valid();
        allocation.idle_ns = 0;
        return;
    }
    const bool is_known = signs.others_cpu_ns && allocation.others_cpu_ns;
    const bool has_run = is_known && *signs.others_cpu_ns >= *allocation.others_cpu_ns + beginning_ns;
    // Where it cannot be told whether something has run it is taken for one in which something has.
    if (has_run || (allocation.idle_ns == 0 && (allocation.has_begun || !is_known))) {
        allocation.has_begun = true;
        allocation.idle_ns = now;
        allocation.others_cpu_ns = signs.others_cpu_ns;
    }
}

std::optional<Preemptible> preemptible_of(const Allocation &allocation, const PreemptionPolicy &policy,
                                          const Signs &signs, std::int64_t now)
{
    std::optional<Preemptible> found;
    const std::int64_t begins_by = allocation.taken_ns + policy.begin_within.count();
    // Something may begin, and end, unseen: nobody is told of the beginning of a process.
    const std::int64_t next_look = std::min(begins_by, now + between_looks_ns);
    const bool is_alone = signs.has_started && signs.only_waits && !signs.company;
    if (!signs.has_started && policy.is_allowed) {
        found = {PreemptReason::NeverStarted, begins_by, signs.only_waits ? next_look : begins_by};
    } else if (is_alone && allocation.has_begun) {
        const std::int64_t idle_by = allocation.idle_ns + policy.idle_after.count();
        found = {PreemptReason::Idle, idle_by, idle_by};
    } else if (is_alone) {
        found = {PreemptReason::NotBegun, begins_by, next_look};
    }
    const bool is_now = found && found->from_ns <= now;
    if (allocation.limit && !is_now && (!found || allocation.limit->until_ns < found->from_ns)) {
        const std::int64_t until = allocation.limit->until_ns;
        found = {PreemptReason::HeldTooLong, until, std::min(until, found ? found->look_again_ns : until)};
    }
    return found;
}

const char *to_word(PreemptReason why)
{
    switch (why) {
    case PreemptReason::NeverStarted:
        return "it was never started";
    case PreemptReason::NotBegun:
        return "nothing had begun in it";
    case PreemptReason::Idle:
        return "it was idle";
    case PreemptReason::HeldTooLong:
        break;
    }
    return "it had its GPU for longer than it may";
}

PreemptPlan plan_preemption(const LeaseState &state, const Claim &claim, const Preemptibles &preemptibles,
                            std::int64_t now)
{
    PreemptPlan plan;
    const auto look_at = [&](std::int64_t when) {
        plan.look_again = std::min(when, plan.look_again.value_or(when));
    };
    for (const auto &[init, preemptible] : preemptibles) {
        if (preemptible.from_ns > now)
            look_at(preemptible.look_again_ns);
    }
    bool has_time_left = false;
    for (const Allocation *one : needed(state, claim, preemptibles, now)) {
        const Preemptible &preemptible = preemptibles.at(one->holder.init);
        const auto grace = end_of_grace(*one, preemptible, now);
        const Holder &holder = one->holder;
        PreemptStep step{holder, preemptible.why};
        step.is_left_alive = preemptible.why != PreemptReason::HeldTooLong && one->rules &&
                             !one->rules->empty() && holder.cgroup && holder.own_pid_namespace;
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
        std::erase_if(plan.steps, [](const PreemptStep &step) { return !step.signal; });
    return plan;
}

void note_steps(LeaseState &state, const PreemptPlan &plan, const ProcessId &own, std::int64_t now)
{
    for (Allocation &allocation : state.allocations) {
        for (const PreemptStep &step : plan.steps) {
            if (step.holder.init != allocation.holder.init)
                continue;
            if (step.signal)
                allocation.limit->asked_ns = now;
            if (step.is_left_alive)
                allocation.taker = own;
        }
    }
}

std::string to_text(const PreemptStep &step)
{
    const std::string container = " the container " + quote(step.holder.container);
    if (step.signal)
        return "asked" + container + " to end by signal " + std::to_string(*step.signal) +
               " for this one: it has its GPU for longer than it may";
    return "ended" + container + " for this one: " + to_word(step.why);
}

} // namespace ogh
