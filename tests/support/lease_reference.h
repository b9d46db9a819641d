// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lease/rules/claim.h"
#include "lease/state/lease_state.h"

namespace ogh::test {

/**
 * The rules of leases once more, in the plainest words and however long it takes: what may be given to a request, by every
 * choice that it leaves. It shares nothing with the program but the values, and which of them overlap.
 */
class LeaseReference final {
public:
    using Keys = std::vector<LeaseKey>;

    LeaseReference(const LeaseState &state, std::int64_t now) : state_(state), now_(now) {}

    /** Whether the request may have just these. */
    [[nodiscard]] bool may_have(const Claim &claim, const Keys &keys) const
    {
        return std::all_of(keys.begin(), keys.end(),
                           [&](const LeaseKey &key) { return may_have_device(claim, key); }) &&
               !is_over(claim, keys, 0);
    }

    /** Whether there is a choice that it may have; of a container that has nothing. */
    [[nodiscard]] bool may_have_some(const Claim &claim) const
    {
        return try_choices(claim, claim.demand.fixed, candidates(claim.demand), claim.demand.any);
    }

    /** Whether the request of the ticket waits for a quota. */
    [[nodiscard]] bool waits_for_quota(const Ticket &ticket) const { return waits_for_other(ticket, ""); }

    /** How many devices are held by the quota. */
    [[nodiscard]] size_t held(const std::string &quota) const
    {
        size_t size = 0;
        for (const Allocation &allocation : state_.allocations)
            size += amount(held_of(allocation.holder.init, quota));
        return size;
    }

    /** Whether each device has no more containers than each of them allows. */
    [[nodiscard]] bool no_limit_is_broken() const
    {
        for (const Allocation &allocation : state_.allocations) {
            for (const LeasedDevice &device : allocation.devices) {
                if (device.max_sharers && sharers(device.key, allocation.holder.init) > *device.max_sharers)
                    return false;
            }
        }
        return true;
    }

    [[nodiscard]] static bool touches(const Demand &demand, const LeaseKey &key)
    {
        const auto is_it = [&](const LeaseKey &other) { return overlap(other, key); };
        return std::any_of(demand.fixed.begin(), demand.fixed.end(), is_it) ||
               (demand.any > 0 && std::any_of(demand.candidates.begin(), demand.candidates.end(), is_it));
    }

    /** Whether the earlier request keeps this device from the later one, who has nothing. */
    [[nodiscard]] bool competes(const Ticket &ticket, const Claim &claim, const LeaseKey &key) const
    {
        const bool limited = ticket.demand.max_sharers || claim.demand.max_sharers ||
                             any_device([&](const ProcessId &, const LeasedDevice &device) {
                                 return device.max_sharers && overlap(device.key, key);
                             });
        return touches(ticket.demand, key) && (limited || conflict(ticket.demand.mode, claim.demand.mode)) &&
               !waits_for_quota(ticket);
    }

private:
    static bool is_in(const LeaseKey &part, const LeaseKey &whole)
    {
        return part == whole || part.starts_with(whole + "/");
    }

    /** Of what is a part of another one, that one alone. */
    static size_t amount(const Keys &keys)
    {
        const std::set<LeaseKey> every(keys.begin(), keys.end());
        size_t size = 0;
        for (const LeaseKey &key : every)
            size += std::none_of(every.begin(), every.end(),
                                 [&](const LeaseKey &other) { return other != key && is_in(key, other); });
        return size;
    }

    template<typename Is> bool any_device(const Is &is) const
    {
        for (const Allocation &allocation : state_.allocations) {
            for (const LeasedDevice &device : allocation.devices) {
                if (is(allocation.holder.init, device))
                    return true;
            }
        }
        return false;
    }

    Keys held_of(const ProcessId &init, const std::string &quota) const
    {
        Keys keys;
        any_device([&](const ProcessId &holder, const LeasedDevice &device) {
            for (const Quota &each : device.quotas) {
                if (holder == init && each.name == quota)
                    keys.push_back(device.key);
            }
            return false;
        });
        return keys;
    }

    /** How many containers have some of the device, with this one. */
    size_t sharers(const LeaseKey &key, const ProcessId &init) const
    {
        std::set<ProcessId> every = {init};
        any_device([&](const ProcessId &holder, const LeasedDevice &device) {
            if (overlap(device.key, key))
                every.insert(holder);
            return false;
        });
        return every.size();
    }

    bool suffices(const LeasedDevice &device, const Demand &demand) const
    {
        if (device.mode == LeaseMode::Exclusive)
            return true;
        const bool is_limited =
            !demand.max_sharers || (device.max_sharers && *device.max_sharers <= *demand.max_sharers);
        return demand.mode == LeaseMode::Shared && is_limited;
    }

    /** Whether the device of a container keeps the other request waiting until that container has ended. */
    static bool is_alone(const LeasedDevice &device, const Demand &demand)
    {
        return conflict(device.mode, demand.mode) || device.max_sharers == 1U || demand.max_sharers == 1U;
    }

    bool must_wait_for(const Ticket &ticket, const ProcessId &init, const LeaseKey &key) const
    {
        return any_device([&](const ProcessId &holder, const LeasedDevice &device) {
            const bool is_needed =
                std::any_of(ticket.demand.fixed.begin(), ticket.demand.fixed.end(),
                            [&](const LeaseKey &each) { return overlap(each, device.key); });
            return holder == init && is_alone(device, ticket.demand) && (is_needed || is_in(key, device.key));
        });
    }

    bool may_have_device(const Claim &claim, const LeaseKey &key) const
    {
        const bool has_it = any_device([&](const ProcessId &holder, const LeasedDevice &device) {
            return holder == claim.init && is_in(key, device.key) && suffices(device, claim.demand);
        });
        if (has_it)
            return true;
        const bool is_drained = std::any_of(state_.drains.begin(), state_.drains.end(),
                                            [&](const Drain &drain) { return overlap(drain.key, key); });
        const bool is_held = any_device([&](const ProcessId &holder, const LeasedDevice &device) {
            return holder != claim.init && overlap(device.key, key) &&
                   (conflict(device.mode, claim.demand.mode) ||
                    (device.max_sharers &&
                     sharers_with(device.key, holder, claim.init) > *device.max_sharers));
        });
        const bool is_full = claim.demand.mode == LeaseMode::Shared && claim.demand.max_sharers &&
                             sharers(key, claim.init) > *claim.demand.max_sharers;
        if (is_drained || is_held || is_full)
            return false;
        return std::none_of(state_.tickets.begin(), state_.tickets.end(), [&](const Ticket &ticket) {
            return came_before(ticket, claim) && competes(ticket, claim, key) &&
                   !must_wait_for(ticket, claim.init, key);
        });
    }

    bool came_before(const Ticket &ticket, const Claim &claim) const
    {
        const bool is_later = claim.ticket != 0 && ticket.number >= claim.ticket;
        return !is_later && now_ < ticket.deadline_ns && !(ticket.holder.init == claim.init);
    }

    /** The same with one more container. */
    size_t sharers_with(const LeaseKey &key, const ProcessId &init, const ProcessId &more) const
    {
        const bool is_one = any_device([&](const ProcessId &holder, const LeasedDevice &device) {
            return holder == more && overlap(device.key, key);
        });
        return sharers(key, init) + (is_one ? 0U : 1U);
    }

    bool waits_for_other(const Ticket &ticket, const std::string &quota) const
    {
        const Claim claim{ticket.holder.init, ticket.demand, ticket.number};
        return std::any_of(ticket.demand.quotas.begin(), ticket.demand.quotas.end(), [&](const Quota &each) {
            if (each.name == quota)
                return false;
            const auto [known, is_new] = used_up_.try_emplace({ticket.number, each.name}, false);
            if (is_new)
                known->second = is_used_up(claim, ticket.demand.fixed, ticket.demand.any, each);
            return known->second;
        });
    }

    bool is_used_up(const Claim &claim, const Keys &keys, unsigned more, const Quota &quota) const
    {
        const Keys own = held_of(claim.init, quota.name);
        size_t size = held(quota.name) - amount(own) + amount_with(own, keys) + more;
        size_t most = quota.most;
        for (const Ticket &ticket : state_.tickets) {
            for (const Quota &its : ticket.demand.quotas) {
                if (its.name != quota.name || !came_before(ticket, claim) ||
                    waits_for_other(ticket, quota.name))
                    continue;
                const Keys had = held_of(ticket.holder.init, quota.name);
                const size_t whole = amount_with(had, ticket.demand.fixed) + ticket.demand.any;
                if (amount(own) + whole > its.most)
                    continue; // it waits for this container anyway
                size += whole - amount(had);
                most = std::min<size_t>(most, its.most);
            }
        }
        return size > most;
    }

    static size_t amount_with(Keys keys, const Keys &more)
    {
        keys.insert(keys.end(), more.begin(), more.end());
        return amount(keys);
    }

    bool is_over(const Claim &claim, const Keys &keys, unsigned more) const
    {
        return std::any_of(claim.demand.quotas.begin(), claim.demand.quotas.end(),
                           [&](const Quota &quota) { return is_used_up(claim, keys, more, quota); });
    }

    /** What may be chosen beside what is named; of a GPU and its parts the parts. */
    static Keys candidates(const Demand &demand)
    {
        Keys found;
        for (const LeaseKey &key : demand.candidates) {
            const auto is_part = [&](const LeaseKey &other) { return other != key && is_in(other, key); };
            const auto overlaps = [&](const LeaseKey &other) { return overlap(other, key); };
            if (std::none_of(demand.candidates.begin(), demand.candidates.end(), is_part) &&
                std::none_of(demand.fixed.begin(), demand.fixed.end(), overlaps) &&
                std::none_of(found.begin(), found.end(), overlaps))
                found.push_back(key);
        }
        return found;
    }

    bool try_choices(const Claim &claim, const Keys &keys, Keys left, unsigned more) const
    {
        if (more == 0)
            return may_have(claim, keys);
        while (left.size() >= more) {
            Keys with = keys;
            with.push_back(left.back());
            left.pop_back();
            if (try_choices(claim, with, left, more - 1))
                return true;
        }
        return false;
    }

    const LeaseState &state_;
    std::int64_t now_;
    /** Of requests that wait, by the number and the quota; each depends on those before it. */
    mutable std::map<std::pair<std::uint64_t, std::string>, bool> used_up_;
};

} // namespace ogh::test
