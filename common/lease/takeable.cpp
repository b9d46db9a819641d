// SPDX-License-Identifier: Apache-2.0
#include "lease/takeable.h"

#include <algorithm>

#include "base/contains.h"
#include "base/error.h"
#include "lease/container_cgroup.h"
#include "lease/presence.h"

namespace ogh {

namespace {

/** How often one is looked at in which something may begin and end again unseen; in ns, at least. */
constexpr std::int64_t between_looks_ns = 1'000'000'000;

/** One that has ended stands in the list of its cgroup for a moment longer. */
constexpr std::int64_t leaving_ns = 100'000'000;

/** More than what the clocks differ by, and far less than it takes to start a program in a container. */
constexpr std::uint64_t beginning_ns = 5'000'000;

bool only_waits(const Holder &holder, const PreemptionPolicy &policy)
{
    return policy.is_allowed && holder.own_pid_namespace && holder.cgroup &&
           contains(policy.idle_inits, holder.program);
}

/** @param everywhere in its pid namespace too, which takes longer: only where the answer matters now */
std::optional<UniqueFd> company_of(const Processes &processes, const Holder &holder, bool everywhere)
try {
    return everywhere ? find_company(processes, holder)
                      : find_another(processes, *holder.cgroup, holder.init.pid);
} catch (const Error &) {
    return UniqueFd(); // its cgroup is gone, or may not be read
}

} // namespace

Signs look_at(const Processes &processes, const Allocation &allocation, const PreemptionPolicy &policy)
{
    const Holder &holder = allocation.holder;
    Signs signs;
    signs.has_started = !has_executed_nothing(processes.read(holder.init.pid, "stat").value_or(""));
    signs.only_waits = only_waits(holder, policy);
    if (!signs.has_started || !signs.only_waits)
        return signs;
    signs.company = company_of(processes, holder, false);
    if (!signs.company)
        signs.others_cpu_ns = cpu_of_others(processes, holder);
    return signs;
}

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

std::optional<Takeable> takeable_of(const Allocation &allocation, const PreemptionPolicy &policy,
                                    const Signs &signs, std::int64_t now)
{
    std::optional<Takeable> found;
    const std::int64_t begins_by = allocation.taken_ns + policy.begin_within.count();
    // Something may begin, and end, unseen: nobody is told of the beginning of a process.
    const std::int64_t next_look = std::min(begins_by, now + between_looks_ns);
    const bool is_alone = signs.has_started && signs.only_waits && !signs.company;
    if (!signs.has_started && policy.is_allowed) {
        found = {TakeReason::NeverStarted, begins_by, signs.only_waits ? next_look : begins_by};
    } else if (is_alone && allocation.has_begun) {
        const std::int64_t idle_by = allocation.idle_ns + policy.idle_after.count();
        found = {TakeReason::Idle, idle_by, idle_by};
    } else if (is_alone) {
        found = {TakeReason::NotBegun, begins_by, next_look};
    }
    const bool is_now = found && found->from_ns <= now;
    if (allocation.limit && !is_now && (!found || allocation.limit->until_ns < found->from_ns)) {
        const std::int64_t until = allocation.limit->until_ns;
        found = {TakeReason::HeldTooLong, until, std::min(until, found ? found->look_again_ns : until)};
    }
    return found;
}

Takeables look_for_takeables(const Processes &processes, LeaseState &state,
                             const std::set<ProcessId> &holders, const PreemptionPolicy &policy,
                             SleepEnd &end, std::int64_t now)
{
    Takeables found;
    for (Allocation &allocation : state.allocations) {
        if (!holders.contains(allocation.holder.init) || allocation.taker)
            continue;
        Signs signs = look_at(processes, allocation, policy);
        note_look(allocation, signs, now);
        auto takeable = takeable_of(allocation, policy, signs, now);
        if (takeable && takeable->from_ns <= now && signs.has_started && signs.only_waits && !signs.company) {
            signs.company = company_of(processes, allocation.holder, true);
            note_look(allocation, signs, now);
            takeable = takeable_of(allocation, policy, signs, now);
        }
        if (takeable)
            found.emplace(allocation.holder.init, *takeable);
        if (signs.company && signs.company->valid())
            end.watched.push_back(std::move(*signs.company));
        else if (signs.company)
            end.at_ns = std::min(end.at_ns, now + leaving_ns);
    }
    return found;
}

const char *to_word(TakeReason why)
{
    switch (why) {
    case TakeReason::NeverStarted:
        return "it was never started";
    case TakeReason::NotBegun:
        return "nothing had begun in it";
    case TakeReason::Idle:
        return "it was idle";
    case TakeReason::HeldTooLong:
        break;
    }
    return "it had its GPU for longer than it may";
}

} // namespace ogh
