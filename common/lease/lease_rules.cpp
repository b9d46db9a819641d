// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_rules.h"

#include <algorithm>
#include <tuple>

namespace ogh {

namespace {

bool names(const Demand &demand, const LeaseKey &key)
{
    const auto is_it = [&](const LeaseKey &other) { return overlap(other, key); };
    return std::any_of(demand.fixed.begin(), demand.fixed.end(), is_it) ||
           (demand.any > 0 && std::any_of(demand.candidates.begin(), demand.candidates.end(), is_it));
}

/** Whether `key` is that device or a part of it. */
bool covers(const LeaseKey &device, const LeaseKey &key)
{
    return overlap(device, key) && device.size() <= key.size();
}

bool compete(const Demand &a, const Demand &b)
{
    const auto is_named = [&](const LeaseKey &key) { return names(a, key); };
    return std::any_of(b.fixed.begin(), b.fixed.end(), is_named) ||
           (b.any > 0 && std::any_of(b.candidates.begin(), b.candidates.end(), is_named));
}

bool is_near(const Holding &holding, const Demand &demand)
{
    return std::any_of(holding.devices.begin(), holding.devices.end(),
                       [&](const LeasedDevice &device) { return names(demand, device.key); });
}

/** One request against the state as it is. */
class Question final {
public:
    Question(const LeaseState &state, const Claim &claim, std::int64_t now)
        : state_(state), claim_(claim), now_(now), own_(find_own())
    {
    }

    Decision answer()
    {
        std::vector<LeaseKey> granted;
        Decision decision{{}, {}, false};
        for (const LeaseKey &key : claim_.demand.fixed) {
            const Obstacles found = obstacles_at(key);
            decision.is_hopeless = decision.is_hopeless || !found.drains.empty();
            add(decision.obstacles, found);
            granted.push_back(key);
        }
        choose(granted, decision);
        if (decision.obstacles.devices.empty() && !decision.is_hopeless)
            decision.granted = std::move(granted);
        return decision;
    }

private:
    using Rank = std::tuple<bool, bool, size_t, std::uint64_t, size_t>;

    [[nodiscard]] const Holding *find_own() const
    {
        const auto found =
            std::find_if(state_.holdings.begin(), state_.holdings.end(),
                         [&](const Holding &holding) { return holding.holder.init == claim_.init; });
        return found == state_.holdings.end() ? nullptr : &*found;
    }

    static void add(Obstacles &all, const Obstacles &more)
    {
        all.holders.insert(more.holders.begin(), more.holders.end());
        all.tickets.insert(more.tickets.begin(), more.tickets.end());
        all.drains.insert(more.drains.begin(), more.drains.end());
        all.devices.insert(more.devices.begin(), more.devices.end());
    }

    /** Whether the container has all of that device already, in a mode that suffices. */
    [[nodiscard]] bool has(const LeaseKey &key) const
    {
        return own_ != nullptr &&
               std::any_of(own_->devices.begin(), own_->devices.end(), [&](const LeasedDevice &device) {
                   return covers(device.key, key) &&
                          (device.mode == LeaseMode::Exclusive || claim_.demand.mode == LeaseMode::Shared);
               });
    }

    /**
     * Whether the request of the ticket has to wait for this container anyway: for what it must have, or for `key`. What
     * the container gets besides ends with the container, so it makes nobody wait longer.
     */
    [[nodiscard]] bool stands_in_the_way(const Ticket &ticket, const LeaseKey &key) const
    {
        return own_ != nullptr &&
               std::any_of(own_->devices.begin(), own_->devices.end(), [&](const LeasedDevice &device) {
                   return conflict(device.mode, ticket.demand.mode) &&
                          (overlaps_one_of(ticket.demand.fixed, device.key) || covers(device.key, key));
               });
    }

    [[nodiscard]] bool is_ahead(const Ticket &ticket) const
    {
        return (claim_.ticket == 0 || ticket.number < claim_.ticket) && ticket.deadline_ns > now_ &&
               ticket.holder.init != claim_.init;
    }

    [[nodiscard]] Obstacles obstacles_at(const LeaseKey &key) const
    {
        Obstacles found;
        if (has(key))
            return found;
        for (const Drain &drain : state_.drains) {
            if (overlap(drain.key, key))
                found.drains.insert(drain.key);
        }
        for (const Holding &holding : state_.holdings) {
            if (&holding != own_ && excludes(holding, key))
                found.holders.insert(holding.holder.init);
        }
        for (const Ticket &ticket : state_.tickets) {
            if (is_ahead(ticket) && conflict(ticket.demand.mode, claim_.demand.mode) &&
                names(ticket.demand, key) && !stands_in_the_way(ticket, key))
                found.tickets.insert(ticket.number);
        }
        if (!found.drains.empty() || !found.holders.empty() || !found.tickets.empty())
            found.devices.insert(key);
        return found;
    }

    [[nodiscard]] bool excludes(const Holding &holding, const LeaseKey &key) const
    {
        return std::any_of(holding.devices.begin(), holding.devices.end(), [&](const LeasedDevice &device) {
            return conflict(device.mode, claim_.demand.mode) && overlap(device.key, key);
        });
    }

    /** Adds as many candidates as are asked for to what is granted, or what is in the way of them. */
    void choose(std::vector<LeaseKey> &granted, Decision &decision) const
    {
        const unsigned wanted = claim_.demand.any;
        std::vector<LeaseKey> free;
        size_t possible = 0;
        Obstacles met;
        for (const LeaseKey &key : wanted == 0 ? std::vector<LeaseKey>() : eligible(granted)) {
            const Obstacles found = obstacles_at(key);
            if (found.devices.empty())
                free.push_back(key);
            possible += found.drains.empty() ? 1U : 0U;
            add(met, found);
        }
        if (free.size() < wanted) {
            decision.is_hopeless = decision.is_hopeless || possible < wanted;
            return add(decision.obstacles, met);
        }
        for (unsigned count = 0; count < wanted; ++count) {
            granted.push_back(best_of(free, granted));
            std::erase(free, granted.back());
        }
    }

    /** The candidates besides what is granted, of which no two overlap: where a part is one, the whole is none. */
    [[nodiscard]] std::vector<LeaseKey> eligible(const std::vector<LeaseKey> &granted) const
    {
        const std::vector<LeaseKey> &candidates = claim_.demand.candidates;
        std::vector<LeaseKey> found;
        for (const LeaseKey &key : candidates) {
            const auto is_part = [&](const LeaseKey &other) { return other != key && covers(key, other); };
            if (!overlaps_one_of(granted, key) && !overlaps_one_of(found, key) &&
                std::none_of(candidates.begin(), candidates.end(), is_part))
                found.push_back(key);
        }
        return found;
    }

    static bool overlaps_one_of(const std::vector<LeaseKey> &keys, const LeaseKey &key)
    {
        return std::any_of(keys.begin(), keys.end(),
                           [&](const LeaseKey &other) { return overlap(other, key); });
    }

    [[nodiscard]] LeaseKey best_of(const std::vector<LeaseKey> &free,
                                   const std::vector<LeaseKey> &granted) const
    {
        return *std::min_element(free.begin(), free.end(), [&](const LeaseKey &a, const LeaseKey &b) {
            return rank_of(a, granted) < rank_of(b, granted);
        });
    }

    /** The lowest is chosen. */
    [[nodiscard]] Rank rank_of(const LeaseKey &key, const std::vector<LeaseKey> &granted) const
    {
        const auto used = state_.last_used.find(key);
        const auto place = std::find(claim_.demand.candidates.begin(), claim_.demand.candidates.end(), key);
        return {!has(key), breaks_up_a_gpu(key, granted), holders_of(key),
                used == state_.last_used.end() ? 0 : used->second,
                static_cast<size_t>(place - claim_.demand.candidates.begin())};
    }

    [[nodiscard]] bool breaks_up_a_gpu(const LeaseKey &key, const std::vector<LeaseKey> &granted) const
    {
        const LeaseKey gpu = gpu_of(key);
        const auto is_part = [&](const LeaseKey &other) { return other != gpu && gpu_of(other) == gpu; };
        if (key == gpu || std::any_of(granted.begin(), granted.end(), is_part))
            return false;
        return std::none_of(state_.holdings.begin(), state_.holdings.end(), [&](const Holding &holding) {
            return std::any_of(holding.devices.begin(), holding.devices.end(),
                               [&](const LeasedDevice &device) { return is_part(device.key); });
        });
    }

    [[nodiscard]] size_t holders_of(const LeaseKey &key) const
    {
        return static_cast<size_t>(
            std::count_if(state_.holdings.begin(), state_.holdings.end(), [&](const Holding &holding) {
                return std::any_of(holding.devices.begin(), holding.devices.end(),
                                   [&](const LeasedDevice &device) { return overlap(device.key, key); });
            }));
    }

    const LeaseState &state_;
    const Claim &claim_;
    std::int64_t now_;
    const Holding *own_;
};

} // namespace

Decision decide(const LeaseState &state, const Claim &claim, std::int64_t now)
{
    return Question(state, claim, now).answer();
}

std::set<ProcessId> holders_near(const LeaseState &state, const Demand &demand)
{
    std::set<ProcessId> found;
    for (const Holding &holding : state.holdings) {
        if (is_near(holding, demand))
            found.insert(holding.holder.init);
    }
    return found;
}

std::set<std::uint64_t> tickets_near(const LeaseState &state, const Demand &demand)
{
    std::set<std::uint64_t> found;
    for (const Ticket &ticket : state.tickets) {
        if (compete(ticket.demand, demand))
            found.insert(ticket.number);
    }
    return found;
}

} // namespace ogh
