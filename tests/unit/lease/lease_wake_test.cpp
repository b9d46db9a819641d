// SPDX-License-Identifier: Apache-2.0
//
// Nobody sleeps who could be served: every interleaving of what may happen to a few who wait, and random ones of more.
// OGH_LEASE_WORLDS makes them more.
#include <cstdlib>
#include <random>
#include <set>

#include <boost/test/unit_test.hpp>

#include "lease/rules/claim.h"
#include "lease/rules/lease_rules.h"
#include "lease/rules/lease_wake.h"
#include "lease/state/lease_changes.h"
#include "lease/state/lease_file.h"
#include "support/lease_reference.h"

BOOST_AUTO_TEST_SUITE(lease_wake)

using namespace ogh;
using namespace ogh::test;

namespace {

constexpr LeaseMode shared = LeaseMode::Shared;
constexpr LeaseMode exclusive = LeaseMode::Exclusive;

const std::vector<LeaseKey> &both()
{
    static const std::vector<LeaseKey> gpus = {"n:0", "n:1"};
    return gpus;
}

/** What somebody may have or want; from `first_of_two_quotas` on by two quotas. */
std::vector<Demand> demands()
{
    const Quotas one = {{"q", 1}};
    const Quotas two = {{"q", 2}};
    std::vector<Demand> every = {
        {{"n:0"}, 0, {}, exclusive},
        {{"n:1"}, 0, {}, exclusive},
        {both(), 0, {}, exclusive},
        {{}, 1, both(), exclusive},
        {{}, 2, both(), exclusive},
        {{}, 1, both(), shared},
        {{"n:0"}, 0, {}, shared},
        {{"n:0"}, 0, {}, shared, {}, 1},
        {{"n:0"}, 0, {}, shared, {}, 2},
        {{}, 1, both(), shared, {}, 1},
        {{"n:0/1"}, 0, {}, exclusive},
        {{}, 1, {"n:0/1", "n:1"}, exclusive},
        {{"n:0"}, 0, {}, exclusive, one},
        {{"n:1"}, 0, {}, shared, one},
        {{}, 1, both(), exclusive, one},
        {{}, 1, both(), exclusive, two},
        {{}, 2, both(), exclusive, two},
        {{"n:1"}, 0, {}, shared, two},
        // By two quotas, from here on.
        {{"n:0"}, 0, {}, exclusive, {{"q", 1}, {"r", 1}}},
        {{}, 1, both(), exclusive, {{"q", 2}, {"r", 1}}},
        {{}, 1, both(), shared, {{"q", 1}, {"r", 2}}},
        {{"n:1"}, 0, {}, exclusive, {{"r", 1}}},
    };
    return every;
}

constexpr size_t with_two_quotas = 4; ///< the last ones

/** A hook that waits, as far as the world sees it. */
struct Waiter {
    Demand demand;
    ProcessId hook;
    Holder container;
    std::uint64_t ticket = 0; ///< 0: it has ended
    std::int64_t deadline = 0;
    Watched watched = {};
    bool is_woken = false;
    bool is_stopped = false;
};

/** What there is: the state under the lock, and the processes, which end without asking anybody. */
class World final {
public:
    void come(const Demand &demand)
    {
        const auto id = static_cast<pid_t>(++ids_);
        Waiter waiter{demand, {1000 + id, 1}, {{id, 1}, true, {}, "c"}};
        waiter.deadline = 100 * id;
        dead_.erase(waiter.container.init);
        const Decision decision = look(waiter.container.init, demand, 0);
        if (decision.granted) {
            Ticket request;
            request.demand = demand;
            enter(state_, waiter.container, request, *decision.granted, now_);
            holders_.push_back(waiter.container.init);
        } else if (!decision.is_hopeless) {
            waiter.ticket =
                queue(state_, {0, waiter.hook, waiter.container, demand, waiter.deadline, 0, {}, false});
            watch(waiter);
            waiters_.push_back(waiter);
        }
        save();
    }

    /** What can happen now, as numbers for happen(). */
    [[nodiscard]] std::vector<size_t> events(bool may_stop) const
    {
        std::vector<size_t> every;
        for (size_t i = 0; i < waiters_.size(); ++i) {
            const Waiter &waiter = waiters_[i];
            if (waiter.ticket == 0)
                continue;
            every.push_back(kinds * i + dies);
            if (waiter.deadline > now_)
                every.push_back(kinds * i + time_is_over);
            if (may_stop && !waiter.is_stopped)
                every.push_back(kinds * i + stops);
            if (has_to_look(waiter))
                every.push_back(kinds * i + looks);
        }
        for (size_t i = 0; i < holders_.size(); ++i) {
            if (!dead_.contains(holders_[i]))
                every.push_back(kinds * i + holder_dies);
        }
        for (size_t i = 0; i < both().size(); ++i)
            every.push_back(kinds * i + drains);
        return every;
    }

    void happen(size_t event)
    {
        const size_t i = event / kinds;
        switch (event % kinds) {
        case dies:
            waiters_[i].ticket = 0;
            dead_.insert(waiters_[i].hook);
            break;
        case time_is_over:
            now_ = waiters_[i].deadline;
            break;
        case stops:
            waiters_[i].is_stopped = true;
            break;
        case looks:
            look_again(waiters_[i]);
            break;
        case holder_dies:
            dead_.insert(holders_[i]);
            break;
        case drains:
            expire(state_, now_);
            if (!undrain(state_, both()[i]))
                drain(state_, {both()[i], 1, now_ % 3 == 0 ? 0 : now_ + 60});
            save();
            break;
        default:
            break;
        }
    }

    /** All that have to look do, and then nobody sleeps who could be served. */
    void settle_and_check()
    {
        for (bool again = true; again;) {
            again = false;
            for (size_t i = waiters_.size(); i-- > 0;) {
                if (waiters_[i].ticket != 0 && has_to_look(waiters_[i])) {
                    look_again(waiters_[i]);
                    again = true;
                }
            }
        }
        const LeaseState there = without_dead();
        for (const Waiter &waiter : waiters_) {
            if (waiter.ticket == 0 || waiter.is_stopped)
                continue;
            const Claim claim{waiter.container.init, waiter.demand, waiter.ticket};
            const bool is_hopeless = decide(there, claim, now_).is_hopeless;
            const bool may_have = LeaseReference(there, now_).may_have_some(claim);
            if (may_have || is_hopeless)
                BOOST_ERROR("the waiter " << waiter.ticket << (may_have ? " could be served" : " has no hope")
                                          << " and sleeps:\n"
                                          << to_text(in_file()));
        }
    }

    /** Two worlds with the same one have the same future. */
    [[nodiscard]] std::string text() const
    {
        std::string text = to_text(in_file()) + std::to_string(now_);
        for (const Waiter &waiter : waiters_)
            text += (waiter.ticket == 0    ? "-"
                     : has_to_look(waiter) ? "w"
                                           : "s") +
                    std::string(waiter.is_stopped ? "!" : "");
        for (const ProcessId &id : dead_)
            text += " " + std::to_string(id.pid);
        return text;
    }

    size_t looked = 0;

private:
    enum Kind : size_t { dies, time_is_over, stops, looks, holder_dies, drains, kinds };

    [[nodiscard]] bool has_to_look(const Waiter &waiter) const
    {
        const auto ticket_is_over = [&](std::uint64_t number) {
            return std::any_of(waiters_.begin(), waiters_.end(), [&](const Waiter &other) {
                return numbers_.at(number) == other.hook.pid && other.deadline <= now_;
            });
        };
        const Watched &watched = waiter.watched;
        return !waiter.is_stopped &&
               (waiter.is_woken || waiter.deadline <= now_ ||
                (watched.drain_ns != 0 && watched.drain_ns <= now_) ||
                std::any_of(watched.holders.begin(), watched.holders.end(),
                            [&](const ProcessId &init) { return dead_.contains(init); }) ||
                std::any_of(watched.tickets.begin(), watched.tickets.end(), [&](std::uint64_t number) {
                    return dead_.contains({static_cast<pid_t>(numbers_.at(number)), 1}) ||
                           ticket_is_over(number);
                }));
    }

    /** As a hook does with the lock held. */
    Decision look(const ProcessId &init, const Demand &demand, std::uint64_t ticket)
    {
        ++looked;
        expire(state_, now_);
        const Claim claim{init, demand, ticket};
        for (;;) {
            Decision decision = decide(state_, claim, now_, Depth::Enough);
            Obstacles near = decision.obstacles;
            if (decision.granted)
                near.add(with_quotas(state_, decision.depends_on));
            if (!drop_dead(state_, &near))
                return decision;
        }
    }

    void look_again(Waiter &waiter)
    {
        waiter.is_woken = false;
        const bool is_in_time = waiter.deadline > now_;
        const Decision decision = look(waiter.container.init, waiter.demand, is_in_time ? waiter.ticket : 0);
        if (decision.granted) {
            Ticket request;
            request.number = waiter.ticket;
            request.demand = waiter.demand;
            enter(state_, waiter.container, request, *decision.granted, now_);
            holders_.push_back(waiter.container.init);
        } else if (is_in_time && !decision.is_hopeless) {
            watch(waiter);
            return save();
        }
        remove_ticket(state_, waiter.ticket);
        waiter.ticket = 0;
        dead_.insert(waiter.hook);
        save();
    }

    void watch(Waiter &waiter)
    {
        for (Ticket &ticket : state_.tickets) {
            if (ticket.number != waiter.ticket)
                continue;
            const Claim claim{waiter.container.init, waiter.demand, waiter.ticket};
            waiter.watched = watched_of(state_, decide(state_, claim, now_, Depth::Enough).obstacles);
            ticket.watched = waiter.watched;
            numbers_[ticket.number] = ticket.hook.pid;
        }
    }

    void save()
    {
        for (const Ticket *ticket : waiters_to_wake(state_, now_)) {
            for (Waiter &waiter : waiters_)
                waiter.is_woken = waiter.is_woken || waiter.ticket == ticket->number;
        }
    }

    bool drop_dead(LeaseState &state, const Obstacles *of) const
    {
        return std::erase_if(state.allocations,
                             [&](const Allocation &one) {
                                 return (of == nullptr || of->holders.contains(one.holder.init)) &&
                                        dead_.contains(one.holder.init);
                             }) +
                   std::erase_if(state.tickets,
                                 [&](const Ticket &one) {
                                     return (of == nullptr || of->tickets.contains(one.number)) &&
                                            dead_.contains(one.hook);
                                 }) >
               0;
    }

    [[nodiscard]] LeaseState without_dead() const
    {
        LeaseState state = state_;
        drop_dead(state, nullptr);
        expire(state, now_);
        return state;
    }

    [[nodiscard]] LeaseFile in_file() const { return {{"b", 1, 1}, state_}; }

    LeaseState state_;
    std::vector<Waiter> waiters_;
    std::vector<ProcessId> holders_;
    std::map<std::uint64_t, pid_t> numbers_; ///< of tickets, with their hooks
    std::set<ProcessId> dead_;
    std::int64_t now_ = 1;
    size_t ids_ = 0;
};

/** All that may come of it, in every order; each world once. */
void explore(const World &world, bool may_stop, int depth, std::set<std::string> &seen)
{
    if (!seen.insert(world.text()).second)
        return;
    World settled = world;
    settled.settle_and_check();
    if (depth == 0)
        return;
    for (const size_t event : world.events(may_stop)) {
        World next = world;
        next.happen(event);
        explore(next, may_stop, depth - 1, seen);
    }
}

int asked_worlds(int usual)
{
    const char *asked = std::getenv("OGH_LEASE_WORLDS");
    return asked != nullptr ? std::atoi(asked) : usual; // NOLINT(cert-err34-c): of whoever runs the test
}

/** Who comes to a world: few kinds, so that they meet. */
class Arrivals final {
public:
    explicit Arrivals(unsigned seed) : random_(seed) // NOLINT(cert-msc51-cpp): the same each time
    {
        const std::vector<Demand> every = demands();
        // A stopped hook does not notice what it alone watches, which another one may depend on by the second quota.
        may_stop = below(2) == 0;
        const size_t choice = every.size() - (may_stop ? with_two_quotas : 0);
        for (size_t count = 1 + below(4); count > 0; --count)
            kinds_.push_back(every[below(choice)]);
    }

    size_t below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }
    const Demand &next() { return kinds_[below(kinds_.size())]; }

    World world(size_t size)
    {
        World world;
        for (; size > 0; --size)
            world.come(next());
        return world;
    }

    bool may_stop = false;

private:
    std::mt19937 random_;
    std::vector<Demand> kinds_;
};

} // namespace

BOOST_AUTO_TEST_CASE(in_every_order_of_events_nobody_sleeps_who_could_be_served)
{
    const int worlds = asked_worlds(20);
    size_t seen_in_all = 0;
    for (int number = 0; number < worlds; ++number) {
        BOOST_TEST_CONTEXT("world " << number)
        {
            Arrivals arrivals(static_cast<unsigned>(number));
            std::set<std::string> seen;
            explore(arrivals.world(4 + arrivals.below(4)), arrivals.may_stop, 3, seen);
            seen_in_all += seen.size();
        }
    }
    BOOST_TEST_MESSAGE(seen_in_all << " worlds");
}

BOOST_AUTO_TEST_CASE(in_long_runs_nobody_sleeps_who_could_be_served)
{
    const int worlds = asked_worlds(20) * 10;
    for (int number = 0; number < worlds; ++number) {
        BOOST_TEST_CONTEXT("world " << number)
        {
            Arrivals arrivals(static_cast<unsigned>(number));
            World world = arrivals.world(7);
            for (int step = 0; step < 30; ++step) {
                const auto events = world.events(arrivals.may_stop);
                world.happen(events[arrivals.below(events.size())]);
                World settled = world;
                settled.settle_and_check();
                if (step % 5 == 4)
                    world.come(arrivals.next());
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(one_end_wakes_few_however_many_wait)
{
    World world;
    for (int count = 0; count < 100; ++count)
        world.come({{}, 1, both(), exclusive});
    const size_t before = world.looked;
    world.happen(world.events(false).at(world.events(false).size() - 4)); // the first holder dies
    world.settle_and_check();
    BOOST_TEST(world.looked - before <= 4U);
}

/** The second quota of the ticket that it watches is used up by now, so that one is in its way no more. */
BOOST_AUTO_TEST_CASE(who_could_be_served_by_a_quota_wakes_though_all_that_it_watches_is_there)
{
    const Quotas two = {{"q", 1}, {"r", 1}};
    const auto waiting = [](std::uint64_t number, Demand demand, Watched watched) {
        const auto pid = static_cast<pid_t>(number);
        Ticket ticket{number, {1000 + pid, 1}, {{pid, 1}, true}, std::move(demand)};
        ticket.deadline_ns = 5;
        ticket.watched = std::move(watched);
        return ticket;
    };
    LeaseState state;
    state.allocations = {{{{100, 1}, true}, {{"n:0", exclusive, two}}}};
    state.tickets = {waiting(1, {{"n:0"}, 0, {}, exclusive, two}, {{{100, 1}}, {}}),
                     waiting(2, {{}, 1, both(), exclusive, {{"q", 2}}}, {{}, {1}})};
    const auto woken = waiters_to_wake(state, 1);
    BOOST_REQUIRE(woken.size() == 1U);
    BOOST_TEST(woken.front()->number == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
