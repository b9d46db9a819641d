// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_rules.h"

#include <algorithm>
#include <tuple>

#include "lease/by_gpu.h"
#include "lease/lease_neighbours.h"

namespace ogh {

namespace {

/** Whether `part` is that device or a part of it. */
bool covers(const LeaseKey &whole, const LeaseKey &part)
{
    return overlap(whole, part) && whole.size() <= part.size();
}

/** A device of a container. */
struct Use {
    const Allocation *allocation;
    const LeasedDevice *device;
};

/** A device that a request may get which came earlier. */
struct Wish {
    const Ticket *ticket;
    const LeaseKey *key;
};

/** One request against the state as it is. */
class Question final {
public:
    Question(const LeaseState &state, const Claim &claim, std::int64_t now)
        : state_(state), claim_(claim), now_(now), own_(find_own())
    {
        for (const Allocation &allocation : state.allocations) {
            for (const LeasedDevice &device : allocation.devices)
                uses_.add(gpu_of(device.key), {&allocation, &device});
        }
        for (const Ticket &ticket : state.tickets) {
            if (!is_ahead(ticket) || !conflict(ticket.demand.mode, claim.demand.mode))
                continue;
            for (const LeaseKey *key : devices_of(ticket.demand))
                wishes_.add(gpu_of(*key), {&ticket, key});
        }
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
    using Rank = std::tuple<bool, bool, size_t, std::uint64_t>;

    [[nodiscard]] const Allocation *find_own() const
    {
        const auto found =
            std::find_if(state_.allocations.begin(), state_.allocations.end(),
                         [&](const Allocation &allocation) { return allocation.holder.init == claim_.init; });
        return found == state_.allocations.end() ? nullptr : &*found;
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
        for (const Use &use : uses_.near(gpu_of(key))) {
            if (use.allocation != own_ && conflict(use.device->mode, claim_.demand.mode) &&
                overlap(use.device->key, key))
                found.holders.insert(use.allocation->holder.init);
        }
        for (const Wish &wish : wishes_.near(gpu_of(key))) {
            if (overlap(*wish.key, key) && !stands_in_the_way(*wish.ticket, key))
                found.tickets.insert(wish.ticket->number);
        }
        if (!found.drains.empty() || !found.holders.empty() || !found.tickets.empty())
            found.devices.insert(key);
        return found;
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
        take_best(std::move(free), granted);
    }

    /** The candidates besides what is granted, of which no two overlap: where a part is one, the whole is none. */
    [[nodiscard]] std::vector<LeaseKey> eligible(const std::vector<LeaseKey> &granted) const
    {
        ByGpu<const LeaseKey *> candidates;
        ByGpu<const LeaseKey *> taken;
        for (const LeaseKey &key : claim_.demand.candidates)
            candidates.add(gpu_of(key), &key);
        for (const LeaseKey &key : granted)
            taken.add(gpu_of(key), &key);
        std::vector<LeaseKey> found;
        for (const LeaseKey &key : claim_.demand.candidates) {
            const auto is_part = [&](const LeaseKey *other) { return *other != key && covers(key, *other); };
            const auto overlaps = [&](const LeaseKey *other) { return overlap(*other, key); };
            const auto &before = taken.near(gpu_of(key));
            const auto &all = candidates.near(gpu_of(key));
            if (std::none_of(before.begin(), before.end(), overlaps) &&
                std::none_of(all.begin(), all.end(), is_part)) {
                found.push_back(key);
                taken.add(gpu_of(key), &key);
            }
        }
        return found;
    }

    /** Adds as many of those that are free as are asked for, the best ones. */
    void take_best(std::vector<LeaseKey> free, std::vector<LeaseKey> &granted) const
    {
        std::vector<Rank> ranks;
        ranks.reserve(free.size());
        for (const LeaseKey &key : free)
            ranks.push_back(rank_of(key));
        for (unsigned count = 0; count < claim_.demand.any; ++count) {
            // What is granted before may be what breaks a GPU up.
            for (size_t i = 0; i < free.size(); ++i)
                std::get<1>(ranks[i]) = breaks_up_a_gpu(free[i], granted);
            const auto best = std::min_element(ranks.begin(), ranks.end());
            const auto place = free.begin() + (best - ranks.begin());
            granted.push_back(std::move(*place));
            free.erase(place);
            ranks.erase(best);
        }
    }

    static bool overlaps_one_of(const std::vector<LeaseKey> &keys, const LeaseKey &key)
    {
        return std::any_of(keys.begin(), keys.end(),
                           [&](const LeaseKey &other) { return overlap(other, key); });
    }

    /** The lowest is chosen; where all is equal, the first one. */
    [[nodiscard]] Rank rank_of(const LeaseKey &key) const
    {
        const auto used = state_.last_used.find(key);
        return {!has(key), false, holders_of(key), used == state_.last_used.end() ? 0 : used->second};
    }

    [[nodiscard]] bool breaks_up_a_gpu(const LeaseKey &key, const std::vector<LeaseKey> &granted) const
    {
        const std::string_view gpu = gpu_of(key);
        if (key == gpu)
            return false;
        const auto is_part = [&](const LeaseKey &other) { return other != gpu && gpu_of(other) == gpu; };
        const auto &uses = uses_.near(gpu_of(key));
        return std::none_of(granted.begin(), granted.end(), is_part) &&
               std::none_of(uses.begin(), uses.end(),
                            [&](const Use &use) { return is_part(use.device->key); });
    }

    [[nodiscard]] size_t holders_of(const LeaseKey &key) const
    {
        std::set<const Allocation *> holders;
        for (const Use &use : uses_.near(gpu_of(key))) {
            if (overlap(use.device->key, key))
                holders.insert(use.allocation);
        }
        return holders.size();
    }

    const LeaseState &state_;
    const Claim &claim_;
    std::int64_t now_;
    const Allocation *own_;
    ByGpu<Use> uses_;
    ByGpu<Wish> wishes_; ///< of those that are in this one's way, if they are ahead of it
};

} // namespace

Decision decide(const LeaseState &state, const Claim &claim, std::int64_t now)
{
    return Question(state, claim, now).answer();
}

} // namespace ogh
