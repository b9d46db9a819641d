// SPDX-License-Identifier: Apache-2.0
#include "lease/container_requests.h"

#include <algorithm>
#include <set>

#include "base/contains.h"
#include "base/error.h"
#include "lease/presence/container_cgroup.h"
#include "lease/state/lease_file.h"

namespace ogh {

namespace {

/** What tells later how long it may have what it was given, and whether something has begun in it. */
void note_limits(const Processes &processes, LeaseState &state, const LeaseRequest &request,
                 const ProcessId &init, std::int64_t now)
{
    for (Allocation &allocation : state.allocations) {
        if (allocation.holder.init != init)
            continue;
        if (allocation.taken_ns == now && contains(request.preemption.idle_inits, request.program))
            allocation.others_cpu_ns = cpu_of_others(processes, allocation.holder);
        if (!request.hold)
            continue;
        const std::int64_t until = allocation.taken_ns + request.hold->most.count();
        if (!allocation.limit || until < allocation.limit->until_ns)
            allocation.limit = HoldLimit{until, request.hold->grace.count(), request.hold->signal};
    }
}

/** Until the container has what it is given now, what an earlier request has noted is not all that it has. */
void forget_rules(LeaseState &state, const Grant &grant)
{
    for (Allocation &allocation : state.allocations) {
        if (allocation.holder.init == grant.init && allocation.rules && !grant.added.empty())
            allocation.rules = DeviceRules();
    }
}

using Keys = std::vector<LeaseKey>;

template<typename Allocations> auto *find_allocation(Allocations &allocations, const ProcessId &init)
{
    const auto found =
        std::find_if(allocations.begin(), allocations.end(),
                     [&](const Allocation &allocation) { return allocation.holder.init == init; });
    return found == allocations.end() ? nullptr : &*found;
}

bool overlaps_one_of(const Keys &keys, const LeaseKey &key)
{
    return std::any_of(keys.begin(), keys.end(), [&](const LeaseKey &other) { return overlap(other, key); });
}

Keys keys_of(const Allocation &allocation)
{
    Keys keys;
    for (const LeasedDevice &device : allocation.devices)
        keys.push_back(device.key);
    return keys;
}

/** The hook that asks, as the name of the request begins. */
std::string for_all_of(const std::string &name)
{
    return name.substr(0, name.find(' ')) + " all";
}

/** What was chosen for earlier requests, and is now asked for by its name. */
Keys displaced_by(const Keys &named, const Allocation &own)
{
    Keys displaced;
    for (const auto &[name, chosen] : own.requests)
        std::copy_if(chosen.begin(), chosen.end(), std::back_inserter(displaced),
                     [&](const LeaseKey &key) { return contains(named, key); });
    return displaced;
}

/** Leaves the candidates that the container does not have. */
void keep_further(Demand &demand, const Keys &had)
{
    std::erase_if(demand.candidates, [&](const LeaseKey &key) {
        return overlaps_one_of(had, key) || overlaps_one_of(demand.fixed, key);
    });
    if (demand.candidates.size() < demand.any)
        throw Error(ErrorKind::NotAvailable, "with its earlier requests the container asks for " +
                                                 std::to_string(demand.any) +
                                                 " GPUs besides those that it has or names, and " +
                                                 std::to_string(demand.candidates.size()) + " are left");
}

bool counts(const std::vector<std::string> &counted, const LeaseKey &key)
{
    return std::find(counted.begin(), counted.end(), vendor_in(key)) != counted.end();
}

/**
 * How many devices of those that count the container has once these are granted.
 * @param counted as LeaseRequest has it
 */
size_t count_with(const LeaseState &state, const ProcessId &init, const std::vector<LeaseKey> &granted,
                  const std::vector<std::string> &counted)
{
    std::set<LeaseKey> keys(granted.begin(), granted.end());
    for (const Allocation &allocation : state.allocations) {
        for (const LeasedDevice &device : allocation.devices) {
            if (allocation.holder.init == init && counts(counted, device.key))
                keys.insert(device.key);
        }
    }
    return keys.size();
}

void check_count(const LeaseState &state, const LeaseRequest &request, const ProcessId &init,
                 const std::vector<LeaseKey> &granted)
{
    if (!request.max_devices || granted.empty())
        return;
    const size_t count = count_with(state, init, granted, request.counted);
    if (count > *request.max_devices)
        throw Error(ErrorKind::Denied,
                    "with what it was given before the container would have " + std::to_string(count) + " " +
                        request.word + ", and --max-devices allows " + std::to_string(*request.max_devices));
}

} // namespace

Grant enter_grant(const Processes &processes, LeaseState &state, const LeaseRequest &request,
                  const RemainingRequest &remaining, const Ticket &ticket,
                  const std::vector<LeaseKey> &granted, std::int64_t now)
{
    const ProcessId &init = ticket.holder.init;
    check_count(state, request, init, granted);
    Grant grant = enter(state, ticket.holder, ticket, granted, now);
    note_limits(processes, state, request, init, now);
    forget_rules(state, grant);
    grant.requests_before = note_request(state, init, remaining, granted);
    return grant;
}

RemainingRequest remaining_request(const LeaseState &state, const ProcessId &init,
                                   const LeaseRequest &request)
{
    RemainingRequest remaining{request.demand, request.name, request.is_for_all, {}};
    const Allocation *const own = find_allocation(state.allocations, init);
    if (own == nullptr || request.is_for_all)
        return remaining;
    Demand &demand = remaining.demand;
    const Keys had = keys_of(*own);
    const auto before = request.name.empty() ? own->requests.end() : own->requests.find(request.name);
    const bool has_all = !request.name.empty() && own->requests.contains(for_all_of(request.name));
    if (before != own->requests.end() || has_all) {
        const auto is_had = [&](const LeaseKey &key) { return overlaps_one_of(had, key); };
        const Keys &again = has_all ? demand.candidates : before->second;
        std::copy_if(again.begin(), again.end(), std::back_inserter(demand.fixed), is_had);
        demand.any = 0;
        remaining.name.clear();
        return remaining;
    }
    remaining.displaced = displaced_by(demand.fixed, *own);
    if (remaining.displaced.empty() && request.name.empty())
        return remaining;
    if (demand.any == 0)
        demand.candidates = request.others;
    demand.any += static_cast<unsigned>(remaining.displaced.size());
    keep_further(demand, had);
    return remaining;
}

std::optional<GrantedRequests> note_request(LeaseState &state, const ProcessId &init,
                                            const RemainingRequest &request,
                                            const std::vector<LeaseKey> &granted)
{
    Allocation *const own = find_allocation(state.allocations, init);
    if (own == nullptr || (request.name.empty() && request.displaced.empty()))
        return std::nullopt;
    GrantedRequests before = own->requests;
    auto next = granted.begin() + static_cast<std::ptrdiff_t>(request.demand.fixed.size());
    for (const LeaseKey &displaced : request.displaced) {
        for (auto &[name, chosen] : own->requests)
            std::replace(chosen.begin(), chosen.end(), displaced, *next);
        ++next;
    }
    if (!request.name.empty())
        own->requests[request.name].assign(request.is_for_all ? granted.end() : next, granted.end());
    check_entry(*own);
    return before;
}

} // namespace ogh
