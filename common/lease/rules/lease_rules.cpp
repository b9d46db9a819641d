// SPDX-License-Identifier: Apache-2.0
#include "lease/rules/lease_rules.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/contains.h"
#include "lease/rules/claim.h"
#include "lease/rules/quota_rules.h"
#include "lease/state/lease_changes.h"
#include "lease/state/lease_state.h"

namespace ogh {

namespace {

/** Which of several free devices is the best: what the container has already; see decide() for the rest. */
class CandidateChoice final {
public:
    using HasIt = std::function<bool(const LeaseKey &)>;

    /** All of them outlive this. */
    CandidateChoice(const LeaseState &state, const DeviceUses &uses, const std::set<LeaseKey> &in_use,
                    HasIt has)
        : state_(state), uses_(uses), in_use_(in_use), has_(std::move(has))
    {
    }

    /** Adds as many of those that are free, the best ones; there are so many. @return see Decision::passed_by */
    std::vector<LeaseKey> take_best(std::vector<LeaseKey> free, unsigned count,
                                    std::vector<LeaseKey> &granted) const;

private:
    /** What speaks against a device: it ends containers at once, somebody uses it. The lower is the better. */
    using Doubts = std::pair<bool, bool>;

    [[nodiscard]] Doubts doubts_of(const LeaseKey &key) const;
    void take(std::vector<LeaseKey> free, const std::vector<Doubts> &doubts, unsigned count,
              std::vector<LeaseKey> &granted) const;
    [[nodiscard]] bool breaks_up_a_gpu(const LeaseKey &key, const std::vector<LeaseKey> &granted) const;

    const LeaseState &state_;
    const DeviceUses &uses_;
    const std::set<LeaseKey> &in_use_;
    HasIt has_;
};

/** How many containers but `except`, which may be none, have some of the device. */
size_t count_holders(const DeviceUses &uses, const LeaseKey &key, const Allocation *except)
{
    std::set<const Allocation *> holders;
    for (const DeviceUse &use : uses.near(gpu_of(key))) {
        if (use.allocation != except && overlap(use.device->key, key))
            holders.insert(use.allocation);
    }
    return holders.size();
}

/**
 * Whether one more container that shares the device is one too many, by its own limit or that of one that has some of it.
 * @param own what that container has already, or none
 */
bool is_full(const DeviceUses &uses, const LeaseKey &key, const std::optional<unsigned> &limit,
             const Allocation *own)
{
    const auto is_too_much = [&](const LeaseKey &device, const std::optional<unsigned> &most) {
        return most && count_holders(uses, device, own) >= *most;
    };
    const auto &near = uses.near(gpu_of(key));
    return is_too_much(key, limit) || std::any_of(near.begin(), near.end(), [&](const DeviceUse &use) {
               return use.allocation != own && overlap(use.device->key, key) &&
                      is_too_much(use.device->key, use.device->max_sharers);
           });
}

/** The first of those who have some of the device that limits how many share it; nullptr: nobody does. */
const DeviceUse *find_limiter(const DeviceUses &uses, const LeaseKey &key)
{
    const auto &near = uses.near(gpu_of(key));
    const auto found = std::find_if(near.begin(), near.end(), [&](const DeviceUse &use) {
        return use.device->max_sharers && overlap(use.device->key, key);
    });
    return found == near.end() ? nullptr : &*found;
}

/** The candidates besides what is granted, of which no two overlap: where a part is one, the whole is none. */
std::vector<LeaseKey> eligible(const Demand &demand, const std::vector<LeaseKey> &granted)
{
    ByGpu<const LeaseKey *> candidates;
    ByGpu<const LeaseKey *> taken;
    for (const LeaseKey &key : demand.candidates)
        candidates.add(gpu_of(key), &key);
    for (const LeaseKey &key : granted)
        taken.add(gpu_of(key), &key);
    std::vector<LeaseKey> found;
    for (const LeaseKey &key : demand.candidates) {
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

std::vector<LeaseKey> CandidateChoice::take_best(std::vector<LeaseKey> free, unsigned count,
                                                 std::vector<LeaseKey> &granted) const
{
    std::vector<Doubts> doubts;
    doubts.reserve(free.size());
    for (const LeaseKey &key : free)
        doubts.push_back(doubts_of(key));
    std::vector<LeaseKey> passed_by;
    if (std::any_of(doubts.begin(), doubts.end(), [](const Doubts &one) { return one > Doubts(); })) {
        passed_by = granted;
        take(free, std::vector<Doubts>(free.size()), count, passed_by);
    }
    take(std::move(free), doubts, count, granted);
    // Where one is passed by, so may be what would have gone with it.
    std::erase_if(passed_by,
                  [&](const LeaseKey &key) { return contains(granted, key) || doubts_of(key) == Doubts(); });
    return passed_by;
}

CandidateChoice::Doubts CandidateChoice::doubts_of(const LeaseKey &key) const
{
    if (has_(key))
        return {};
    return {exits_early(state_, key), in_use_.contains(std::string(gpu_of(key)))};
}

void CandidateChoice::take(std::vector<LeaseKey> free, const std::vector<Doubts> &doubts, unsigned count,
                           std::vector<LeaseKey> &granted) const
{
    // The lowest is chosen; where all is equal, the first one.
    using Rank = std::tuple<bool, Doubts, bool, size_t, std::uint64_t>;
    std::vector<Rank> ranks;
    ranks.reserve(free.size());
    for (size_t i = 0; i < free.size(); ++i) {
        const auto used = state_.last_used.find(free[i]);
        ranks.emplace_back(!has_(free[i]), doubts[i], false, count_holders(uses_, free[i], nullptr),
                           used == state_.last_used.end() ? 0 : used->second);
    }
    for (; count > 0; --count) {
        // What is granted before may be what breaks a GPU up.
        for (size_t i = 0; i < free.size(); ++i)
            std::get<2>(ranks[i]) = breaks_up_a_gpu(free[i], granted);
        const auto best = std::min_element(ranks.begin(), ranks.end());
        const auto place = free.begin() + (best - ranks.begin());
        granted.push_back(std::move(*place));
        free.erase(place);
        ranks.erase(best);
    }
}

bool CandidateChoice::breaks_up_a_gpu(const LeaseKey &key, const std::vector<LeaseKey> &granted) const
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

/** A device that a request may get which came earlier. */
struct Wish {
    const Ticket *ticket;
    const LeaseKey *key;
};

/** What all questions need to know of a state, found out once. */
struct Scene {
    /** @param last the ticket behind which nobody is of interest: whoever came later is in nobody's way */
    Scene(const LeaseState &all, std::int64_t time, std::uint64_t last)
        : state(all), now(time), uses(uses_of(all)), quotas(all, time, last)
    {
        for (const Ticket &ticket : all.tickets) {
            if (ticket.number >= last)
                break;
            for (const LeaseKey *key : devices_of(ticket.demand))
                wishes.add(gpu_of(*key), {&ticket, key});
        }
    }

    const LeaseState &state;
    std::int64_t now;
    DeviceUses uses;
    ByGpu<Wish> wishes; ///< in the order of the tickets
    QuotaRules quotas;
};

/** One request against the state as it is. */
class Question final {
public:
    Question(const Scene &scene, const Claim &claim, Depth depth)
        : scene_(scene), state_(scene.state), claim_(claim), is_brief_(depth == Depth::Enough),
          own_(find_allocation(state_.allocations, claim_.init))
    {
    }

    Decision answer()
    {
        std::vector<LeaseKey> granted;
        Decision decision;
        // Whoever waits for a quota need not know who is in its way at a device.
        is_over_ = is_brief_ && own_ == nullptr && claim_.ticket != 0 && scene_.quotas.is_over(claim_.ticket);
        for (const LeaseKey &key : claim_.demand.fixed) {
            const Obstacles found = obstacles_at(key);
            decision.is_hopeless = decision.is_hopeless || !found.drains.empty();
            decision.is_behind = decision.is_behind || !found.tickets.empty();
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
    [[nodiscard]] bool competes(const Ticket &ticket) const
    {
        return conflict(ticket.demand.mode, claim_.demand.mode) || ticket.demand.max_sharers ||
               claim_.demand.max_sharers;
    }

    /** Whether it waits for a quota: then it is in the way of nobody who wants its devices. */
    [[nodiscard]] bool is_over(const Ticket &ticket)
    {
        meet_quotas(ticket);
        return scene_.quotas.is_over(ticket.number);
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
        add_tickets_at(key, found);
        if (!is_brief_ || (found.drains.empty() && found.tickets.empty()))
            add_holders_at(key, found);
        if (!found.drains.empty() || !found.holders.empty() || !found.tickets.empty())
            found.devices.insert(key);
        if (is_over_) {
            found.holders.clear();
            found.tickets.clear();
        }
        return found;
    }

    void add_holders_at(const LeaseKey &key, Obstacles &found) const
    {
        const bool has_no_place = claim_.demand.mode == LeaseMode::Shared &&
                                  is_full(scene_.uses, key, claim_.demand.max_sharers, own_);
        for (const DeviceUse &use : scene_.uses.near(gpu_of(key))) {
            if (use.allocation == own_ || !overlap(use.device->key, key))
                continue;
            const bool is_alone_enough = conflict(use.device->mode, claim_.demand.mode);
            if (is_alone_enough && is_brief_)
                found.holders.clear();
            if (is_alone_enough || has_no_place)
                found.holders.insert(use.allocation->holder.init);
            if (is_alone_enough && is_brief_)
                return;
        }
    }

    void add_tickets_at(const LeaseKey &key, Obstacles &found)
    {
        const auto &wishes = scene_.wishes.near(gpu_of(key));
        for (auto wish = wishes.rbegin(); wish != wishes.rend(); ++wish) { // the nearest first
            const Ticket &ticket = *wish->ticket;
            if (!is_ahead(ticket, claim_, scene_.now) || !overlap(*wish->key, key))
                continue;
            const DeviceUse *const limiter = competes(ticket) ? nullptr : find_limiter(scene_.uses, key);
            if ((!competes(ticket) && limiter == nullptr) || stands_in_the_way(ticket, key) ||
                is_over(ticket))
                continue;
            found.tickets.insert(ticket.number);
            if (!is_brief_)
                continue;
            if (limiter != nullptr && limiter->allocation != own_)
                found.holders.insert(limiter->allocation->holder.init);
            return;
        }
    }

    /** Adds as many candidates as are asked for to what is granted, or what is in the way of them. */
    void choose(std::vector<LeaseKey> &granted, Decision &decision)
    {
        const unsigned wanted = claim_.demand.any;
        std::vector<LeaseKey> free;
        size_t possible = 0;
        size_t first = 0; ///< of those where nobody came earlier
        Obstacles met;
        for (const LeaseKey &key : wanted == 0 ? std::vector<LeaseKey>() : eligible(claim_.demand, granted)) {
            const Obstacles found = obstacles_at(key);
            if (found.devices.empty())
                free.push_back(key);
            possible += found.drains.empty() ? 1U : 0U;
            first += found.drains.empty() && found.tickets.empty() ? 1U : 0U;
            met.add(found);
        }
        if (free.size() < wanted) {
            decision.is_hopeless = decision.is_hopeless || possible < wanted;
            decision.is_behind = decision.is_behind || first < wanted;
            return decision.obstacles.add(met);
        }
        const CandidateChoice choice(state_, scene_.uses, claim_.in_use,
                                     [&](const LeaseKey &key) { return has(key); });
        decision.passed_by = choice.take_best(std::move(free), wanted, granted);
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
        decision.obstacles.add(scene_.quotas.obstacles(claim, is_brief_));
        decision.is_hopeless = decision.is_hopeless || scene_.quotas.is_too_much(claim);
        // Whether the room of one that waits is kept depends on its other quotas.
        for (const Ticket &ticket : state_.tickets) {
            const Quotas &others = ticket.demand.quotas;
            if (others.size() > 1 && std::any_of(others.begin(), others.end(), [&](const Quota &other) {
                    return has_quota(demand.quotas, other.name);
                }))
                meet_quotas(ticket);
        }
    }

    const Scene &scene_;
    const LeaseState &state_;
    const Claim &claim_;
    bool is_brief_;
    const Allocation *own_;
    bool is_over_ = false;
    std::set<std::string> quotas_met_; ///< those that decide whether others are in the way of this one
};

} // namespace

Decision decide(const LeaseState &state, const Claim &claim, std::int64_t now, Depth depth)
{
    const std::uint64_t last = claim.ticket == 0 ? std::numeric_limits<std::uint64_t>::max() : claim.ticket;
    return Question(Scene(state, now, last), claim, depth).answer();
}

std::vector<Decision> decide_for(const LeaseState &state, const std::vector<const Ticket *> &tickets,
                                 std::int64_t now)
{
    std::vector<Decision> decisions;
    if (tickets.empty())
        return decisions;
    const Scene scene(state, now, tickets.back()->number);
    decisions.reserve(tickets.size());
    for (const Ticket *ticket : tickets) {
        const Claim claim{ticket->holder.init, ticket->demand, ticket->number};
        decisions.push_back(Question(scene, claim, Depth::Enough).answer());
    }
    return decisions;
}

} // namespace ogh
