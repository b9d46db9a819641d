// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "lease/rules/busy_text.h"
#include "lease/rules/claim.h"
#include "lease/rules/lease_rules.h"
#include "lease/state/lease_changes.h"

BOOST_AUTO_TEST_SUITE(quota_rules)

using namespace ogh;

namespace {

using Keys = std::vector<LeaseKey>;
using Numbers = std::set<std::uint64_t>;

const Quotas one = {{"key:one", 1}};
const Quotas two = {{"key:two", 2}};
const Quotas both = {{"key:one", 1}, {"key:two", 2}};
const Keys gpus = {"a", "b", "c", "d"};

Demand any_of(unsigned count, Quotas quotas, LeaseMode mode = LeaseMode::Shared)
{
    return {{}, count, gpus, mode, std::move(quotas)};
}

Demand all_of(Keys keys, Quotas quotas, LeaseMode mode = LeaseMode::Shared)
{
    return {std::move(keys), 0, {}, mode, std::move(quotas)};
}

Demand shared_by(unsigned most, Keys keys)
{
    return {std::move(keys), 0, {}, LeaseMode::Shared, {}, most};
}

struct Host {
    LeaseState state;
    Grant last;

    Decision ask(pid_t pid, const Demand &demand, std::uint64_t ticket = 0) const
    {
        return decide(state, {{pid, 1}, demand, ticket}, 100);
    }

    bool take(pid_t pid, const Demand &demand, std::uint64_t ticket = 0)
    {
        const Decision decision = ask(pid, demand, ticket);
        if (!decision.granted)
            return false;
        Ticket request;
        request.number = ticket;
        request.demand = demand;
        last = enter(state, {{pid, 1}, true, {}, "c" + std::to_string(pid)}, request, *decision.granted, 100);
        return true;
    }

    std::uint64_t wait(pid_t pid, const Demand &demand)
    {
        return queue(state,
                     {0, {pid + 1000, 1}, {{pid, 1}, true, {}, "c" + std::to_string(pid)}, demand, 1000, 0});
    }

    void end(pid_t pid) { remove_holder(state, {pid, 1}); }

    std::string busy(pid_t pid, const Demand &demand) const
    {
        return busy_text(state, ask(pid, demand), demand, {});
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(all_with_a_quota_have_so_many_devices_and_no_more, Host)
{
    BOOST_TEST(take(1, any_of(1, two)));
    BOOST_TEST(take(2, any_of(1, two, LeaseMode::Exclusive)));
    const Decision decision = ask(3, any_of(1, two));
    BOOST_TEST(!decision.granted);
    BOOST_TEST(!decision.is_hopeless);
    BOOST_TEST((decision.obstacles.holders == std::set<ProcessId>{{1, 1}, {2, 1}}));
    BOOST_TEST((decision.obstacles.quotas == std::set<std::string>{"key:two"}));
    BOOST_TEST(take(3, any_of(1, {{"policy:two", 2}}))); // of another kind it is another one
    BOOST_TEST(take(4, any_of(1, {})));
    end(1);
    BOOST_TEST(take(5, any_of(1, two)));
}

BOOST_FIXTURE_TEST_CASE(who_shares_a_device_counts_as_much_as_who_has_it_alone, Host)
{
    BOOST_TEST(take(1, all_of({"a"}, two)));
    BOOST_TEST(take(2, all_of({"a"}, two)));
    BOOST_TEST(!take(3, all_of({"a"}, two)));
}

BOOST_FIXTURE_TEST_CASE(a_device_that_is_asked_for_twice_counts_once_and_so_does_a_part_of_it, Host)
{
    BOOST_TEST(take(1, all_of({"a"}, one)));
    BOOST_TEST(take(1, all_of({"a", "a/0"}, one)));
    BOOST_TEST(take(1, all_of({"a"}, both)));
    BOOST_TEST(ask(1, all_of({"b"}, one)).is_hopeless);
    end(1);
    BOOST_TEST(take(2, all_of({"b/0", "b"}, one)));
    // What it has without the quota counts once it asks with it.
    BOOST_TEST(take(3, all_of({"c"}, {})));
    BOOST_TEST(!ask(3, all_of({"c"}, one)).granted);
}

BOOST_FIXTURE_TEST_CASE(who_asks_for_more_than_there_ever_is_need_not_wait, Host)
{
    BOOST_TEST(ask(1, any_of(3, two)).is_hopeless);
    BOOST_TEST(ask(1, all_of({"a", "b", "c"}, two)).is_hopeless);
    BOOST_TEST(take(1, any_of(1, two)));
    BOOST_TEST(!ask(2, any_of(2, two)).is_hopeless);
    BOOST_TEST(ask(1, all_of({"b", "c"}, two)).is_hopeless); // with what it has
}

BOOST_FIXTURE_TEST_CASE(who_waits_for_a_quota_is_in_its_order_and_in_nobody_elses_way, Host)
{
    take(1, any_of(1, one));
    const auto first = wait(2, any_of(1, one, LeaseMode::Exclusive));
    const auto second = wait(3, any_of(1, one));
    BOOST_TEST((ask(3, any_of(1, one), second).obstacles.tickets == Numbers{first}));
    const Decision passes = ask(4, all_of({"b", "c"}, {}, LeaseMode::Exclusive));
    BOOST_TEST(passes.granted.has_value());
    BOOST_TEST((passes.depends_on == std::set<std::string>{"key:one"}));
    end(1);
    BOOST_TEST(!ask(3, any_of(1, one), second).granted);
    BOOST_TEST(!ask(5, all_of({"b"}, {})).granted); // the first has room now, and is before
    BOOST_TEST(take(2, any_of(1, one, LeaseMode::Exclusive), first));
    BOOST_TEST(!ask(3, any_of(1, one), second).granted);
    end(2);
    BOOST_TEST(take(3, any_of(1, one), second));
}

BOOST_FIXTURE_TEST_CASE(who_waits_for_a_device_has_room_in_its_quota_kept, Host)
{
    take(9, all_of({"a"}, {}, LeaseMode::Exclusive));
    const auto first = wait(1, all_of({"a"}, two));
    BOOST_TEST(take(2, all_of({"b"}, two))); // there is room for both
    BOOST_TEST((ask(3, all_of({"c"}, two)).obstacles.tickets == Numbers{first}));
}

BOOST_FIXTURE_TEST_CASE(who_waits_for_one_quota_is_not_in_the_way_in_another_one, Host)
{
    take(1, any_of(1, one));
    wait(2, any_of(2, {{"key:one", 2}, {"key:two", 2}}));
    BOOST_TEST(take(3, any_of(1, two)));
}

BOOST_FIXTURE_TEST_CASE(of_two_limits_with_one_name_each_has_its_own_and_in_the_queue_the_least_counts, Host)
{
    BOOST_TEST(take(1, any_of(1, {{"key:x", 1}})));
    BOOST_TEST(take(2, any_of(1, {{"key:x", 3}})));
    end(2);
    wait(3, any_of(1, {{"key:x", 1}}));
    BOOST_TEST(!ask(4, any_of(1, {{"key:x", 3}})).granted);
}

BOOST_FIXTURE_TEST_CASE(a_container_overtakes_in_a_quota_only_who_waits_for_it_anyway, Host)
{
    take(1, all_of({"a"}, two));
    wait(2, any_of(2, two));
    BOOST_TEST(take(1, all_of({"b"}, two)));
    end(1);
    state.tickets.clear();
    take(3, all_of({"a"}, two));
    wait(4, all_of({"c"}, two));
    BOOST_TEST(!ask(3, all_of({"b"}, two)).granted);
}

BOOST_FIXTURE_TEST_CASE(what_is_taken_back_counts_no_more, Host)
{
    take(1, all_of({"a"}, {}));
    const LeaseState before = state;
    BOOST_TEST(take(1, all_of({"a", "b"}, two, LeaseMode::Exclusive)));
    take_back(state, last);
    BOOST_TEST((state.allocations == before.allocations));
    BOOST_TEST(ask(2, all_of({"c", "d"}, two)).granted.has_value());
}

BOOST_FIXTURE_TEST_CASE(a_refusal_names_the_quota_and_who_has_it_and_waits_for_it, Host)
{
    take(1, all_of({"a", "b"}, two));
    BOOST_TEST(busy(2, any_of(1, two)) ==
               "busy: a shared lease needs any 1 of 4: the quota 'key:two' allows 2 at once: 2 held by "
               "container 'c1' since 1970-01-01T00:00:00Z");
    wait(3, any_of(1, two));
    BOOST_TEST(
        busy(4, any_of(3, two)) ==
        "busy: a shared lease needs any 3 of 4: the quota 'key:two' allows 2 at once: 3 are asked for, "
        "2 held by container 'c1' since 1970-01-01T00:00:00Z, waited for by container 'c3' since "
        "1970-01-01T00:00:00Z");
}

BOOST_FIXTURE_TEST_CASE(a_refusal_says_what_would_have_been_enough, Host)
{
    take(1, all_of({"a", "b", "c"}, {}, LeaseMode::Exclusive));
    const std::string text = busy(2, any_of(2, {}));
    BOOST_TEST(
        text.starts_with("busy: a shared lease needs any 2 of 4, and 1 is free: a is held exclusively by "
                         "container 'c1' since 1970-01-01T00:00:00Z; b is "),
        text);
    take(3, all_of({"d"}, {}, LeaseMode::Exclusive));
    BOOST_TEST(
        busy(2, any_of(1, {})).starts_with("busy: a shared lease needs any 1 of 4, and none is free: a is "));
    BOOST_TEST(
        busy(2, all_of({"d"}, {}, LeaseMode::Exclusive)) ==
        "busy: an exclusive lease needs all that is asked for: d is held exclusively by container 'c3' since "
        "1970-01-01T00:00:00Z");
}

BOOST_FIXTURE_TEST_CASE(those_of_a_quota_are_looked_after_wherever_they_are, Host)
{
    take(1, all_of({"d"}, both));
    take(2, all_of({"c"}, {}));
    const auto in_both = wait(3, all_of({"c"}, both));
    const auto in_one = wait(4, all_of({"d"}, one));
    const Obstacles near = with_quotas(state, {"key:two"});
    BOOST_TEST((near.holders == std::set<ProcessId>{{1, 1}}));
    BOOST_TEST((near.tickets == Numbers{in_both, in_one})); // the latter decides by the former
    BOOST_TEST(with_quotas(state, {}).holders.empty());
    BOOST_TEST(with_quotas(state, {"key:three"}).tickets.empty());
}

BOOST_FIXTURE_TEST_CASE(no_more_share_a_device_than_each_of_them_allows, Host)
{
    BOOST_TEST(take(1, shared_by(2, {"a"})));
    BOOST_TEST(take(2, all_of({"a"}, {}))); // without a limit of its own
    for (const Demand &demand : {all_of({"a"}, {}), shared_by(64, {"a"}), shared_by(1, {"a"})})
        BOOST_TEST((ask(3, demand).obstacles.holders == std::set<ProcessId>{{1, 1}, {2, 1}}));
    end(1);
    BOOST_TEST(!ask(3, shared_by(1, {"a"})).granted);
    BOOST_TEST(take(3, shared_by(2, {"a"})));
    BOOST_TEST(take(3, shared_by(2, {"a"})));
    BOOST_TEST(
        busy(4, shared_by(3, {"a"})) ==
        "busy: a shared lease (by 3 at most) needs all that is asked for: a is held shared by container 'c2' "
        "since "
        "1970-01-01T00:00:00Z, held shared (by 2 at most) by container 'c3' since 1970-01-01T00:00:00Z");
}

BOOST_FIXTURE_TEST_CASE(a_device_is_shared_with_its_parts, Host)
{
    BOOST_TEST(take(1, shared_by(2, {"a"})));
    BOOST_TEST(take(2, all_of({"a/0"}, {})));
    BOOST_TEST(!take(3, all_of({"a/1"}, {}))); // the third on a
}

BOOST_FIXTURE_TEST_CASE(with_a_limit_those_who_share_come_in_order, Host)
{
    take(1, shared_by(2, {"a"}));
    take(2, shared_by(2, {"a"}));
    const auto first = wait(3, shared_by(2, {"a"}));
    end(2);
    for (const Demand &demand : {all_of({"a"}, {}), shared_by(2, {"a"})})
        BOOST_TEST((ask(4, demand).obstacles.tickets == Numbers{first}));
    BOOST_TEST(take(4, all_of({"b"}, {})));
    BOOST_TEST(take(3, shared_by(2, {"a"}), first));
}

BOOST_FIXTURE_TEST_CASE(who_has_a_device_can_limit_it_later_if_that_holds, Host)
{
    take(1, all_of({"a"}, {}));
    take(2, all_of({"a"}, {}));
    BOOST_TEST(!ask(1, shared_by(1, {"a"})).granted);
    BOOST_TEST(take(1, shared_by(2, {"a"})));
    BOOST_TEST(!ask(3, all_of({"a"}, {})).granted);
    take_back(state, last);
    BOOST_TEST(ask(3, all_of({"a"}, {})).granted.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
