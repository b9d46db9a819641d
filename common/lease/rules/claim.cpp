// SPDX-License-Identifier: Apache-2.0
#include "lease/rules/claim.h"

#include <algorithm>

#include "lease/state/lease_state.h"

namespace ogh {

namespace {

/** What a request meets: the devices that overlap one of its own. */
class Neighbourhood final {
public:
    explicit Neighbourhood(const Demand &demand)
    {
        for (const LeaseKey *key : devices_of(demand))
            keys_.add(gpu_of(*key), key);
    }

    [[nodiscard]] bool has(const LeaseKey &key) const
    {
        const auto &near = keys_.near(gpu_of(key));
        return std::any_of(near.begin(), near.end(),
                           [&](const LeaseKey *other) { return overlap(*other, key); });
    }

private:
    ByGpu<const LeaseKey *> keys_;
};

} // namespace

std::vector<const LeaseKey *> devices_of(const Demand &demand)
{
    std::vector<const LeaseKey *> keys;
    for (const LeaseKey &key : demand.fixed)
        keys.push_back(&key);
    if (demand.any > 0) {
        for (const LeaseKey &key : demand.candidates)
            keys.push_back(&key);
    }
    return keys;
}

std::set<ProcessId> holders_near(const LeaseState &state, const Demand &demand)
{
    const Neighbourhood near(demand);
    std::set<ProcessId> found;
    for (const Allocation &allocation : state.allocations) {
        if (std::any_of(allocation.devices.begin(), allocation.devices.end(),
                        [&](const LeasedDevice &device) { return near.has(device.key); }))
            found.insert(allocation.holder.init);
    }
    return found;
}

std::set<std::uint64_t> tickets_near(const LeaseState &state, const Demand &demand)
{
    const Neighbourhood near(demand);
    std::set<std::uint64_t> found;
    for (const Ticket &ticket : state.tickets) {
        const auto keys = devices_of(ticket.demand);
        if (std::any_of(keys.begin(), keys.end(), [&](const LeaseKey *key) { return near.has(*key); }))
            found.insert(ticket.number);
    }
    return found;
}

Obstacles with_quotas(const LeaseState &state, std::set<std::string> names)
{
    Obstacles found;
    const auto is_one = [&](const Quota &quota) { return names.contains(quota.name); };
    const auto has_one = [&](const Quotas &quotas) {
        return std::any_of(quotas.begin(), quotas.end(), is_one);
    };
    for (bool is_more = !names.empty(); is_more;) {
        const size_t before = names.size();
        for (const Ticket &ticket : state.tickets) {
            if (!has_one(ticket.demand.quotas))
                continue;
            found.tickets.insert(ticket.number);
            for (const Quota &quota : ticket.demand.quotas)
                names.insert(quota.name);
        }
        is_more = names.size() > before;
    }
    for (const Allocation &allocation : state.allocations) {
        if (std::any_of(allocation.devices.begin(), allocation.devices.end(),
                        [&](const LeasedDevice &device) { return has_one(device.quotas); }))
            found.holders.insert(allocation.holder.init);
    }
    return found;
}

bool is_ahead(const Ticket &ticket, const Claim &claim, std::int64_t now)
{
    return (claim.ticket == 0 || ticket.number < claim.ticket) && ticket.deadline_ns > now &&
           ticket.holder.init != claim.init;
}

void Obstacles::add(const Obstacles &more)
{
    holders.insert(more.holders.begin(), more.holders.end());
    tickets.insert(more.tickets.begin(), more.tickets.end());
    drains.insert(more.drains.begin(), more.drains.end());
    devices.insert(more.devices.begin(), more.devices.end());
    quotas.insert(more.quotas.begin(), more.quotas.end());
}

} // namespace ogh
