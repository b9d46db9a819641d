// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_rules.h"

#include <algorithm>
#include <tuple>

#include "lease/by_gpu.h"
#include "lease/device_use.h"
#include "lease/lease_neighbours.h"
#include "lease/quota_rules.h"

namespace ogh {

namespace {

/** Whether `part` is that device or a part of it. */
bool covers(const LeaseKey &whole, const LeaseKey &part)
{
    return overlap(whole, part) && whole.size() <= part.size();
}

bool have_one_in_common(const Quotas &some, const Quotas &others)
{
    return std::any_of(some.begin(), some.end(), [&](const Quota &quota) {
        return std::any_of(others.begin(), others.end(),
                           [&](const Quota &other) { return other.name == quota.name; });
    });
}

/** A device that a request may get which came earlier. */
struct Wish {
    const Ticket *ticket;
    const LeaseKey *key;
};

/** One request against the state as it is. */
class Question final {
public:
    Question(const LeaseState &state, const Claim &claim, std::int64_t now)
        : state_(state), claim_(claim), own_(find_own()), uses_(uses_of(state)), quotas_(state, now)
    {
        for (const Ticket &ticket : state.tickets) {
            if (!is_ahead(ticket, claim, now))
                continue;
            for (const LeaseKey *key : devices_of(ticket.demand))
                wishes_.add(gpu_of(*key), {&ticket, key});
        }
    }

    Decision answer()
    {
        std::vector<LeaseKey> granted;
        Decision decision;
        for (const LeaseKey &key : claim_.demand.fixed) {
            const Obstacles found = obstacles_at(key);
            decision.is_hopeless = decision.is_hopeless || !found.drains.empty();
            decision.obstacles.add(found);
            granted.push_back(key);
        }
        choose(granted, decision);
        look_at_quotas(granted, decision);
        decision.depends_on = quotas_met_;
        if (decision.obstacles.devices.empty() && decision.obstacles.quotas.empty() && !decision.is_hopeless)
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

    [[nodiscard]] bool suffices(const LeasedDevice &device) const
    {
        const auto &limit = claim_.demand.max_sharers;
        if (device.mode == LeaseMode::Exclusive)
            return true;
        return claim_.demand.mode == LeaseMode::Shared &&
               (!limit || (device.max_sharers && *device.max_sharers <= *limit));
    }

    /** Whether the container has all of that device already, in a mode that suffices. */
    [[nodiscard]] bool has(const LeaseKey &key) const
    {
        return own_ != nullptr &&
               std::any_of(own_->devices.begin(), own_->devices.end(), [&](const LeasedDevice &device) {
                   return covers(device.key, key) && suffices(device);
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
                   return exclude_each_other(device, ticket.demand) &&
                          (overlaps_one_of(ticket.demand.fixed, device.key) || covers(device.key, key));
               });
    }

    static bool exclude_each_other(const LeasedDevice &device, const Demand &demand)
    {
        return conflict(device.mode, demand.mode) || device.max_sharers == 1U || demand.max_sharers == 1U;
    }

    /** Whether both cannot be had for certain: where the number of those who share is limited, sharing is no help. */
    [[nodiscard]] bool competes(const Ticket &ticket, const LeaseKey &key) const
    {
        return conflict(ticket.demand.mode, claim_.demand.mode) || ticket.demand.max_sharers ||
               claim_.demand.max_sharers || is_limited(uses_, key);
    }

    /** Whether it waits for a quota: then it is in the way of nobody who wants its devices. */
    [[nodiscard]] bool is_over(const Ticket &ticket)
    {
        meet_quotas(ticket);
        return quotas_.is_over(ticket.number);
    }

    void meet_quotas(const Ticket &ticket)
    {
        for (const Quota &quota : ticket.demand.quotas)
            quotas_met_.insert(quota.name);
    }

    [[nodiscard]] Obstacles obstacles_at(const LeaseKey &key)
    {
        Obstacles found;
        if (has(key))
            return found;
        for (const Drain &drain : state_.drains) {
            if (overlap(drain.key, key))
                found.drains.insert(drain.key);
        }
        const bool has_no_place =
            claim_.demand.mode == LeaseMode::Shared && is_full(uses_, key, claim_.demand.max_sharers, own_);
        for (const DeviceUse &use : uses_.near(gpu_of(key))) {
            if (use.allocation != own_ && overlap(use.device->key, key) &&
                (has_no_place || conflict(use.device->mode, claim_.demand.mode)))
                found.holders.insert(use.allocation->holder.init);
        }
        for (const Wish &wish : wishes_.near(gpu_of(key))) {
            if (overlap(*wish.key, key) && competes(*wish.ticket, key) &&
                !stands_in_the_way(*wish.ticket, key) && !is_over(*wish.ticket))
                found.tickets.insert(wish.ticket->number);
        }
        if (!found.drains.empty() || !found.holders.empty() || !found.tickets.empty())
            found.devices.insert(key);
        return found;
    }

    /** Adds as many candidates as are asked for to what is granted, or what is in the way of them. */
    void choose(std::vector<LeaseKey> &granted, Decision &decision)
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
            met.add(found);
        }
        if (free.size() < wanted) {
            decision.is_hopeless = decision.is_hopeless || possible < wanted;
            return decision.obstacles.add(met);
        }
        take_best(std::move(free), granted);
    }

    /** @param granted all that would be given, or less if something else is in the way */
    void look_at_quotas(const std::vector<LeaseKey> &granted, Decision &decision)
    {
        Demand demand = claim_.demand;
        if (demand.quotas.empty())
            return;
        if (granted.size() == demand.fixed.size() + demand.any)
            demand = {granted, 0, {}, demand.mode, demand.quotas};
        const Claim claim{claim_.init, demand, claim_.ticket};
        decision.obstacles.add(quotas_.obstacles(claim));
        decision.is_hopeless = decision.is_hopeless || quotas_.is_too_much(claim);
        // Whether the room of one that waits is kept depends on its other quotas.
        for (const Ticket &ticket : state_.tickets) {
            if (ticket.demand.quotas.size() > 1 && have_one_in_common(ticket.demand.quotas, demand.quotas))
                meet_quotas(ticket);
        }
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
        return {!has(key), false, count_holders(uses_, key, nullptr),
                used == state_.last_used.end() ? 0 : used->second};
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
                            [&](const DeviceUse &use) { return is_part(use.device->key); });
    }

    const LeaseState &state_;
    const Claim &claim_;
    const Allocation *own_;
    DeviceUses uses_;
    ByGpu<Wish> wishes_; ///< of those that came earlier
    QuotaRules quotas_;
    std::set<std::string> quotas_met_; ///< those that decide whether others are in the way of this one
};

} // namespace

Decision decide(const LeaseState &state, const Claim &claim, std::int64_t now)
{
    return Question(state, claim, now).answer();
}

} // namespace ogh
