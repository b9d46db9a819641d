// SPDX-License-Identifier: Apache-2.0
#include "lease/ending.h"

#include <algorithm>

#include "base/contains.h"
#include "base/error.h"
#include "lease/container_cgroup.h"
#include "lease/presence.h"

namespace ogh {

namespace {

/** How often one is looked at in which something may begin and end again unseen; in ns, at least. */
constexpr std::int64_t between_looks_ns = 1'000'000'000;

/** More than what the clocks differ by, and far less than it takes to start a program in a container. */
constexpr std::uint64_t beginning_ns = 5'000'000;

bool may_become_idle(const Holder &holder, const PreemptionPolicy &policy)
{
    return policy.is_allowed && holder.own_pid_namespace && holder.cgroup &&
           contains(policy.idle_inits, holder.program);
}

bool has_begun(const Processes &processes, const Allocation &allocation)
{
    const auto now = allocation.others_cpu_ns ? cpu_of_others(processes, allocation.holder) : std::nullopt;
    return !now || *now >= *allocation.others_cpu_ns + beginning_ns;
}

} // namespace

Signs look_at(const Processes &processes, const Allocation &allocation, const PreemptionPolicy &policy,
              std::int64_t now)
{
    const Holder &holder = allocation.holder;
    Signs signs;
    signs.has_started = !has_executed_nothing(processes.read(holder.init.pid, "stat").value_or(""));
    if (!may_become_idle(holder, policy) || now < allocation.taken_ns + policy.idle_after.count())
        return signs;
    try {
        signs.company = find_another(processes, *holder.cgroup, holder.init.pid);
        signs.has_begun = has_begun(processes, allocation);
    } catch (const Error &) {
        signs.company = UniqueFd(); // its cgroup is gone, or may not be read
    }
    return signs;
}

std::optional<Ending> ending_of(const Allocation &allocation, const PreemptionPolicy &policy,
                                const Signs &signs, std::int64_t now)
{
    std::optional<Ending> ending;
    const auto add = [&](EndReason why, std::int64_t from) {
        if (!ending || from < ending->from_ns)
            ending = Ending{why, from, from};
    };
    if (policy.is_allowed && !signs.has_started)
        add(EndReason::NeverStarted, allocation.taken_ns + policy.start_within.count());
    if (may_become_idle(allocation.holder, policy) && !signs.company)
        add(EndReason::Idle,
            allocation.taken_ns +
                (signs.has_begun ? policy.idle_after : std::max(policy.begin_within, policy.idle_after))
                    .count());
    if (allocation.limit && !(ending && ending->from_ns <= now))
        add(EndReason::HeldTooLong, allocation.limit->until_ns);
    if (ending && !signs.has_begun)
        ending->look_again_ns =
            std::min(ending->from_ns, now + std::max(between_looks_ns, policy.idle_after.count()));
    return ending;
}

Endings look_for_endings(const Processes &processes, const LeaseState &state,
                         const std::set<ProcessId> &holders, const PreemptionPolicy &policy,
                         std::vector<UniqueFd> &watched, std::int64_t now)
{
    Endings endings;
    for (const Allocation &allocation : state.allocations) {
        if (!holders.contains(allocation.holder.init))
            continue;
        Signs signs = look_at(processes, allocation, policy, now);
        if (const auto ending = ending_of(allocation, policy, signs, now))
            endings.emplace(allocation.holder.init, *ending);
        if (signs.company && signs.company->valid())
            watched.push_back(std::move(*signs.company));
    }
    return endings;
}

} // namespace ogh
