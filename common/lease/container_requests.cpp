// SPDX-License-Identifier: Apache-2.0
#include "lease/container_requests.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "base/contains.h"
#include "base/error.h"
#include "lease/presence/container_cgroup.h"
#include "lease/state/lease_file.h"

namespace ogh {

namespace {

/** What tells later how long it may have what it was given, and whether something has begun in it. */
void note_limits(const Processes &processes, Allocation &own, const LeaseRequest &request, std::int64_t now)
{
    if (own.taken_ns == now && own.holder.idle_init)
        own.others_cpu_ns = cpu_of_others(processes, own.holder);
    if (!request.hold)
        return;
    const std::int64_t until = own.taken_ns + request.hold->most.count();
    if (!own.limit || until < own.limit->until_ns)
        own.limit = HoldLimit{until, request.hold->grace.count(), request.hold->signal};
}

using Keys = std::vector<LeaseKey>;

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

/**
 * Of as many as the policy allows these are the first, whatever others may have of them: with other ones besides, the
 * container would have too many.
 */
void name_had(Demand &demand, const LeaseRequest &request, const Keys &had)
{
    if (!request.max_devices)
        return;
    const auto begin = demand.candidates.begin();
    const auto further = std::stable_partition(begin, demand.candidates.end(),
                                               [&](const LeaseKey &key) { return contains(had, key); });
    const auto again = std::min<std::ptrdiff_t>(further - begin, demand.any);
    demand.fixed.insert(demand.fixed.end(), begin, begin + again);
    demand.candidates.erase(begin, further);
    demand.any -= static_cast<unsigned>(again);
}

RemainingRequest remaining_beside(const Allocation &own, const LeaseRequest &request)
{
    RemainingRequest remaining{request.demand, request.name, request.is_for_all, {}};
    Demand &demand = remaining.demand;
    const Keys had = keys_of(own.devices);
    if (request.is_for_all) {
        name_had(demand, request, had);
        return remaining;
    }
    const auto before = request.name.empty() ? own.requests.end() : own.requests.find(request.name);
    const bool has_all = !request.name.empty() && own.requests.contains(for_all_of(request.name));
    if (before != own.requests.end() || has_all) {
        const auto is_had = [&](const LeaseKey &key) { return overlaps_one_of(had, key); };
        const Keys &again = has_all ? demand.candidates : before->second;
        std::copy_if(again.begin(), again.end(), std::back_inserter(demand.fixed), is_had);
        demand.any = 0;
        remaining.name.clear();
        return remaining;
    }
    remaining.displaced = displaced_by(demand.fixed, own);
    if (remaining.displaced.empty() && request.name.empty()) {
        name_had(demand, request, had);
        return remaining;
    }
    if (demand.any == 0)
        demand.candidates = request.others;
    demand.any += static_cast<unsigned>(remaining.displaced.size());
    keep_further(demand, had);
    return remaining;
}

/** @param demand what remains: what is chosen for it is none that the container has. @param own nullptr: it has nothing */
void check_count(const LeaseRequest &request, const Allocation *own, const Demand &demand)
{
    if (!request.max_devices || (demand.fixed.empty() && demand.any == 0))
        return;
    std::set<LeaseKey> keys(demand.fixed.begin(), demand.fixed.end());
    if (own != nullptr) {
        for (const LeasedDevice &device : own->devices) {
            if (contains(request.counted, vendor_in(device.key)))
                keys.insert(device.key);
        }
    }
    const size_t count = keys.size() + demand.any;
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
    Grant grant = enter(state, ticket.holder, ticket, granted, now);
    if (Allocation *const own = find_allocation(state.allocations, init)) {
        note_limits(processes, *own, request, now);
        // Until the container has what it is given now, what an earlier request has noted is not all that it has.
        if (own->rules && !grant.added.empty())
            own->rules = DeviceRules();
    }
    grant.requests_before = note_request(state, init, remaining, granted);
    return grant;
}

RemainingRequest remaining_request(const LeaseState &state, const ProcessId &init,
                                   const LeaseRequest &request)
{
    const Allocation *const own = find_allocation(state.allocations, init);
    RemainingRequest remaining = own != nullptr
                                     ? remaining_beside(*own, request)
                                     : RemainingRequest{request.demand, request.name, request.is_for_all, {}};
    check_count(request, own, remaining.demand);
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
