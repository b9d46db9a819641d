// SPDX-License-Identifier: Apache-2.0
#include "lease/rules/quota_rules.h"

#include <algorithm>

namespace ogh {

namespace {

using KeyPointers = std::vector<const LeaseKey *>;

/** How many devices they are: what is a part of another one, or comes again, is none besides. */
size_t count_devices(const KeyPointers &keys)
{
    size_t count = 0;
    for (auto key = keys.begin(); key != keys.end(); ++key) {
        const auto is_before = [&](const LeaseKey *other) { return *other == **key; };
        const auto is_whole = [&](const LeaseKey *other) { return *other != **key && covers(*other, **key); };
        count +=
            std::none_of(keys.begin(), key, is_before) && std::none_of(keys.begin(), keys.end(), is_whole)
                ? 1U
                : 0U;
    }
    return count;
}

/** How many devices the request adds to those that the container has by a quota. */
size_t count_further(const Demand &demand, const KeyPointers &had)
{
    KeyPointers keys = had;
    for (const LeaseKey &key : demand.fixed)
        keys.push_back(&key);
    const auto is_had = [&](const LeaseKey &key) {
        return std::any_of(had.begin(), had.end(),
                           [&](const LeaseKey *other) { return covers(*other, key); });
    };
    const auto again = static_cast<size_t>(
        demand.any == 0 ? 0 : std::count_if(demand.candidates.begin(), demand.candidates.end(), is_had));
    return count_devices(keys) - count_devices(had) + (demand.any > again ? demand.any - again : 0);
}

} // namespace

QuotaRules::QuotaRules(const LeaseState &state, std::int64_t now, std::uint64_t last) : now_(now)
{
    for (const Allocation &allocation : state.allocations)
        add_holder(allocation);
    add_tickets(state, last);
}

void QuotaRules::add_holder(const Allocation &allocation)
{
    std::set<Use *> touched;
    for (const LeasedDevice &device : allocation.devices) {
        for (const Quota &quota : device.quotas) {
            Use &use = uses_[quota.name];
            use.devices.push_back({allocation.holder.init, &device.key});
            touched.insert(&use);
        }
    }
    for (Use *use : touched)
        use->held += count_devices(use->of(allocation.holder.init));
}

void QuotaRules::add_tickets(const LeaseState &state, std::uint64_t last)
{
    // In their order: whether one is over depends on those before it alone.
    for (const Ticket &ticket : state.tickets) {
        if (ticket.number > last)
            return;
        const Claim claim{ticket.holder.init, ticket.demand, ticket.number};
        std::vector<const Quota *> used_up;
        for (const Quota &quota : ticket.demand.quotas) {
            if (is_used_up(claim, quota))
                used_up.push_back(&quota);
        }
        if (!used_up.empty())
            over_.insert(ticket.number);
        for (const Quota &quota : ticket.demand.quotas) {
            // Who waits for another quota as well is not in the way here.
            if (used_up.size() > 1 || (used_up.size() == 1 && used_up.front() != &quota))
                continue;
            Use &use = uses_[quota.name];
            const KeyPointers had = use.of(ticket.holder.init);
            const size_t further = count_further(ticket.demand, had);
            use.queue.push_back({&ticket, further, further + count_devices(had), quota.most});
        }
    }
}

std::vector<const LeaseKey *> QuotaRules::Use::of(const ProcessId &init) const
{
    KeyPointers keys;
    for (const Held &held_one : devices) {
        if (held_one.init == init)
            keys.push_back(held_one.key);
    }
    return keys;
}

const QuotaRules::Use &QuotaRules::use_of(const std::string &quota) const
{
    static const Use nothing;
    const auto found = uses_.find(quota);
    return found == uses_.end() ? nothing : found->second;
}

/**
 * Whether the other one's part is kept from this one.
 * @param own how many devices this one has by the quota: for what only their end makes possible the other one waits anyway
 */
bool QuotaRules::counts(const Queued &other, const Claim &claim, size_t own) const
{
    return is_ahead(*other.ticket, claim, now_) && own + other.whole <= other.most;
}

bool QuotaRules::is_used_up(const Claim &claim, const Quota &quota) const
{
    const Use &use = use_of(quota.name);
    const KeyPointers had = use.of(claim.init);
    const size_t own = count_devices(had);
    size_t size = use.held + count_further(claim.demand, had);
    unsigned most = quota.most;
    for (const Queued &other : use.queue) {
        if (!counts(other, claim, own))
            continue;
        size += other.further;
        most = std::min(most, other.most);
    }
    return size > most;
}

void QuotaRules::add_enough(const Claim &claim, const Quota &quota, Obstacles &found) const
{
    const Use &use = use_of(quota.name);
    const KeyPointers had = use.of(claim.init);
    const size_t own = count_devices(had);
    size_t size = own + count_further(claim.demand, had);
    unsigned most = quota.most;
    for (auto other = use.queue.rbegin(); other != use.queue.rend() && size <= most; ++other) {
        if (!counts(*other, claim, own))
            continue;
        size += other->further;
        most = std::min(most, other->most);
        found.tickets.insert(other->ticket->number);
    }
    std::set<ProcessId> counted = {claim.init};
    for (auto held = use.devices.begin(); held != use.devices.end() && size <= most; ++held) {
        if (!counted.insert(held->init).second)
            continue;
        size += count_devices(use.of(held->init));
        found.holders.insert(held->init);
    }
}

Obstacles QuotaRules::obstacles(const Claim &claim, bool is_brief) const
{
    Obstacles found;
    for (const Quota &quota : claim.demand.quotas) {
        if (!is_used_up(claim, quota))
            continue;
        found.quotas.insert(quota.name);
        if (is_brief) {
            add_enough(claim, quota, found);
            continue;
        }
        const Use &use = use_of(quota.name);
        for (const Held &held : use.devices) {
            if (held.init != claim.init)
                found.holders.insert(held.init);
        }
        const size_t own = count_devices(use.of(claim.init));
        for (const Queued &other : use.queue) {
            if (counts(other, claim, own))
                found.tickets.insert(other.ticket->number);
        }
    }
    return found;
}

bool QuotaRules::is_too_much(const Claim &claim) const
{
    return std::any_of(claim.demand.quotas.begin(), claim.demand.quotas.end(), [&](const Quota &quota) {
        const KeyPointers had = use_of(quota.name).of(claim.init);
        return count_devices(had) + count_further(claim.demand, had) > quota.most;
    });
}

} // namespace ogh
