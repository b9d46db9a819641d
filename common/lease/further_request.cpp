// SPDX-License-Identifier: Apache-2.0
#include "lease/further_request.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "base/contains.h"
#include "base/error.h"
#include "lease/lease_bounds.h"

namespace ogh {

namespace {

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

} // namespace

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

FurtherRequest beside_earlier(const LeaseState &state, const ProcessId &init, const LeaseRequest &request)
{
    FurtherRequest further{request.demand, request.name, request.is_for_all, {}};
    const Allocation *const own = find_allocation(state.allocations, init);
    if (own == nullptr || request.is_for_all)
        return further;
    Demand &demand = further.demand;
    const Keys had = keys_of(*own);
    const auto before = request.name.empty() ? own->requests.end() : own->requests.find(request.name);
    const bool has_all = !request.name.empty() && own->requests.contains(for_all_of(request.name));
    if (before != own->requests.end() || has_all) {
        const auto is_had = [&](const LeaseKey &key) { return overlaps_one_of(had, key); };
        const Keys &again = has_all ? demand.candidates : before->second;
        std::copy_if(again.begin(), again.end(), std::back_inserter(demand.fixed), is_had);
        demand.any = 0;
        further.name.clear();
        return further;
    }
    further.displaced = displaced_by(demand.fixed, *own);
    if (further.displaced.empty() && request.name.empty())
        return further;
    if (demand.any == 0)
        demand.candidates = request.others;
    demand.any += static_cast<unsigned>(further.displaced.size());
    keep_further(demand, had);
    return further;
}

std::optional<GrantedRequests> note_request(LeaseState &state, const ProcessId &init,
                                            const FurtherRequest &request,
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
