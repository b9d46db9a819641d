// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "lease/rules/lease_rules.h"
#include "lease/state/lease_changes.h"
#include "lease/state/lease_file.h"

BOOST_AUTO_TEST_SUITE(lease_rules)

using namespace ogh;

namespace {

using Keys = std::vector<LeaseKey>;

constexpr LeaseMode shared = LeaseMode::Shared;
constexpr LeaseMode exclusive = LeaseMode::Exclusive;

Holder container(pid_t pid)
{
    return {{pid, 1}, true, {}, "c" + std::to_string(pid)};
}

Demand all_of(Keys keys, LeaseMode mode)
{
    return {std::move(keys), 0, {}, mode};
}

Demand any_of(unsigned count, Keys candidates, LeaseMode mode)
{
    return {{}, count, std::move(candidates), mode};
}

struct Host {
    LeaseState state;
    std::int64_t now = 100;

    Decision ask(pid_t pid, const Demand &demand, std::uint64_t ticket = 0) const
    {
        return decide(state, {{pid, 1}, demand, ticket}, now);
    }

    /** The devices that it got; "" if something is in the way. */
    Keys take(pid_t pid, const Demand &demand, std::uint64_t ticket = 0)
    {
        const Decision decision = ask(pid, demand, ticket);
        if (!decision.granted)
            return {};
        Ticket request;
        request.number = ticket;
        request.demand = demand;
        last = enter(state, container(pid), request, *decision.granted, now);
        BOOST_TEST(contradiction(state) == "");
        return *decision.granted;
    }

    std::uint64_t wait(pid_t pid, const Demand &demand, std::int64_t deadline = 1000)
    {
        return queue(state, {0, {pid + 1000, 1}, container(pid), demand, deadline, 0});
    }

    void end(pid_t pid) { remove_holder(state, {pid, 1}); }

    Grant last;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_gpu_overlaps_its_parts_and_parts_do_not_overlap)
{
    BOOST_TEST(overlap("amd:0000:1b:00.0", "amd:0000:1b:00.0"));
    BOOST_TEST(overlap("amd:0000:1b:00.0", "amd:0000:1b:00.0/3"));
    BOOST_TEST(overlap("nvidia:0000:1b:00.0/1/0", "nvidia:0000:1b:00.0/1"));
    BOOST_TEST(!overlap("amd:0000:1b:00.0/3", "amd:0000:1b:00.0/30"));
    BOOST_TEST(!overlap("amd:0000:1b:00.0", "amd:0000:1b:00.01"));
    BOOST_TEST(gpu_of("nvidia:0000:1b:00.0/1/0") == "nvidia:0000:1b:00.0");
}

BOOST_FIXTURE_TEST_CASE(an_exclusive_lease_excludes_all_others, Host)
{
    BOOST_TEST(take(1, all_of({"a"}, exclusive)) == Keys{"a"});
    for (const LeaseMode mode : {shared, exclusive}) {
        const Decision decision = ask(2, all_of({"a"}, mode));
        BOOST_TEST(!decision.granted);
        BOOST_TEST((decision.obstacles.holders == std::set<ProcessId>{{1, 1}}));
        BOOST_TEST(!decision.is_hopeless);
    }
    end(1);
    BOOST_TEST(take(2, all_of({"a"}, exclusive)) == Keys{"a"});
}

BOOST_FIXTURE_TEST_CASE(any_number_may_share_and_an_exclusive_one_waits_for_all, Host)
{
    for (const pid_t pid : {1, 2, 3})
        BOOST_TEST(take(pid, all_of({"a"}, shared)) == Keys{"a"});
    BOOST_TEST(ask(4, all_of({"a"}, exclusive)).obstacles.holders.size() == 3);
}

BOOST_FIXTURE_TEST_CASE(it_is_all_or_nothing, Host)
{
    take(1, all_of({"b"}, exclusive));
    const LeaseState before = state;
    BOOST_TEST(take(2, all_of({"a", "b"}, exclusive)).empty());
    BOOST_TEST((state == before));
    BOOST_TEST((ask(2, all_of({"a", "b"}, exclusive)).obstacles.devices == std::set<LeaseKey>{"b"}));
}

BOOST_FIXTURE_TEST_CASE(a_gpu_and_its_parts_exclude_each_other, Host)
{
    BOOST_TEST(take(1, all_of({"a/0"}, exclusive)) == Keys{"a/0"});
    BOOST_TEST(take(2, all_of({"a/1"}, exclusive)) == Keys{"a/1"});
    BOOST_TEST(take(3, all_of({"a"}, shared)).empty());
    end(1);
    end(2);
    BOOST_TEST(take(3, all_of({"a"}, exclusive)) == Keys{"a"});
    BOOST_TEST(take(1, all_of({"a/0"}, shared)).empty());
}

BOOST_FIXTURE_TEST_CASE(a_container_adds_to_what_it_has_and_a_second_run_changes_nothing, Host)
{
    take(1, all_of({"a"}, exclusive));
    BOOST_TEST(take(1, all_of({"b"}, exclusive)) == Keys{"b"});
    BOOST_TEST(state.allocations.size() == 1);
    const LeaseState before = state;
    BOOST_TEST((take(1, all_of({"a", "b"}, exclusive)) == Keys{"a", "b"}));
    BOOST_TEST(take(1, all_of({"a"}, shared)) == Keys{"a"});
    BOOST_TEST(take(1, any_of(1, {"c", "b"}, exclusive)) == Keys{"b"});
    BOOST_TEST((state == before));
    BOOST_TEST(last.added.empty());
}

BOOST_FIXTURE_TEST_CASE(a_shared_lease_becomes_exclusive_if_nobody_else_shares, Host)
{
    take(1, all_of({"a"}, shared));
    take(2, all_of({"a"}, shared));
    BOOST_TEST(take(1, all_of({"a"}, exclusive)).empty());
    end(2);
    BOOST_TEST(take(1, all_of({"a"}, exclusive)) == Keys{"a"});
    BOOST_TEST(take(2, all_of({"a"}, shared)).empty());
    take_back(state, last);
    BOOST_TEST(take(2, all_of({"a"}, shared)) == Keys{"a"});
}

BOOST_FIXTURE_TEST_CASE(only_what_was_added_is_taken_back, Host)
{
    take(1, all_of({"a"}, shared));
    take(1, all_of({"a", "b"}, shared));
    take_back(state, last);
    BOOST_TEST(state.allocations.front().devices.size() == 1);
    take(2, all_of({"c"}, shared));
    take_back(state, last);
    BOOST_TEST(state.allocations.size() == 1);
}

BOOST_FIXTURE_TEST_CASE(who_competes_comes_in_order_who_does_not_wait_too, Host)
{
    take(1, all_of({"a"}, exclusive));
    const auto first = wait(2, all_of({"a", "b"}, exclusive));
    const auto second = wait(3, all_of({"b"}, exclusive)); // a small one behind a large one
    BOOST_TEST(
        (ask(3, all_of({"b"}, exclusive), second).obstacles.tickets == std::set<std::uint64_t>{first}));
    BOOST_TEST((ask(4, all_of({"b"}, shared)).obstacles.tickets == std::set<std::uint64_t>{first, second}));
    BOOST_TEST(take(4, all_of({"c"}, exclusive)) == Keys{"c"}); // disjoint
    end(1);
    BOOST_TEST(!ask(3, all_of({"b"}, exclusive), second).granted);
    BOOST_TEST((take(2, all_of({"a", "b"}, exclusive), first) == Keys{"a", "b"}));
    BOOST_TEST(state.tickets.size() == 1);
}

BOOST_FIXTURE_TEST_CASE(who_shares_does_not_overtake_who_wants_it_alone, Host)
{
    take(1, all_of({"a"}, shared));
    wait(2, all_of({"a"}, exclusive));
    BOOST_TEST(take(3, all_of({"a"}, shared)).empty());
    wait(4, all_of({"b", "c"}, shared));
    BOOST_TEST(take(5, all_of({"b"}, shared)) == Keys{"b"}); // both share: nobody is in the way
}

BOOST_FIXTURE_TEST_CASE(who_waits_for_any_competes_for_each_candidate, Host)
{
    take(1, all_of({"a"}, exclusive));
    const auto first = wait(2, any_of(2, {"a", "b"}, exclusive));
    BOOST_TEST(take(3, all_of({"b"}, exclusive)).empty());
    BOOST_TEST(take(3, any_of(1, {"b", "c"}, exclusive)) == Keys{"c"});
    end(1);
    BOOST_TEST((take(2, any_of(2, {"a", "b"}, exclusive), first) == Keys{"b", "a"}));
}

BOOST_FIXTURE_TEST_CASE(a_ticket_does_not_count_from_its_deadline_on, Host)
{
    take(1, all_of({"a"}, exclusive));
    wait(2, all_of({"a", "b"}, exclusive), 200);
    now = 199;
    BOOST_TEST(take(3, all_of({"b"}, exclusive)).empty());
    now = 200;
    BOOST_TEST(take(3, all_of({"b"}, exclusive)) == Keys{"b"});
    expire(state, now);
    BOOST_TEST(state.tickets.empty());
}

BOOST_FIXTURE_TEST_CASE(a_container_overtakes_only_who_waits_for_it_anyway, Host)
{
    take(1, all_of({"a"}, shared));
    wait(2, all_of({"a", "b"}, exclusive));
    BOOST_TEST(take(1, all_of({"b"}, shared)) == Keys{"b"});
    BOOST_TEST(take(1, all_of({"a"}, exclusive)) == Keys{"a"});
    take(3, all_of({"c"}, shared));
    wait(4, any_of(1, {"c", "d"}, exclusive));
    BOOST_TEST(take(3, all_of({"d"}, shared)).empty());
    BOOST_TEST(take(3, all_of({"c"}, exclusive)) == Keys{"c"});
}

BOOST_FIXTURE_TEST_CASE(any_takes_the_least_recently_used, Host)
{
    const Keys every = {"a", "b", "c"};
    for (const auto *expected : {"a", "b", "c", "a", "b"}) {
        BOOST_TEST(take(1, any_of(1, every, exclusive)) == Keys{expected});
        end(1);
    }
    take(1, all_of({"c"}, exclusive));
    BOOST_TEST(take(2, any_of(1, every, exclusive)) == Keys{"a"});
}

BOOST_FIXTURE_TEST_CASE(any_shared_takes_the_one_with_the_fewest_holders, Host)
{
    take(1, all_of({"a"}, shared));
    take(2, all_of({"a"}, shared));
    take(3, all_of({"b"}, shared));
    BOOST_TEST(take(4, any_of(1, {"a", "b"}, shared)) == Keys{"b"});
    BOOST_TEST(take(5, any_of(1, {"b", "a"}, shared)) == Keys{"a"}); // two each: a was used earlier
}

BOOST_FIXTURE_TEST_CASE(any_takes_parts_of_a_gpu_that_is_split, Host)
{
    const Keys parts = {"a/0", "a/1", "b/0", "b/1"};
    take(1, all_of({"b/0"}, exclusive));
    BOOST_TEST(take(2, any_of(1, parts, exclusive)) == Keys{"b/1"});
    BOOST_TEST((take(3, any_of(2, parts, exclusive)) == Keys{"a/0", "a/1"}));
    BOOST_TEST(take(4, any_of(1, parts, exclusive)).empty());
}

BOOST_FIXTURE_TEST_CASE(any_comes_besides_what_is_named_and_takes_nothing_twice, Host)
{
    const Demand demand{{"a"}, 1, {"a", "a/0", "b", "b"}, exclusive};
    BOOST_TEST((take(1, demand) == Keys{"a", "b"}));
    BOOST_TEST(ask(2, any_of(3, {"a", "b"}, exclusive)).is_hopeless);
}

BOOST_FIXTURE_TEST_CASE(nobody_gets_or_waits_for_what_is_drained, Host)
{
    BOOST_TEST(drain(state, {"a", 7}));
    BOOST_TEST(!drain(state, {"a", 8}));
    BOOST_TEST(ask(1, all_of({"a/1"}, shared)).is_hopeless);
    BOOST_TEST(take(1, any_of(1, {"a", "b"}, exclusive)) == Keys{"b"});
    BOOST_TEST(!ask(2, any_of(1, {"a", "b"}, exclusive)).is_hopeless); // b comes free again
    BOOST_TEST(ask(2, any_of(2, {"a", "b"}, exclusive)).is_hopeless);
    BOOST_TEST(undrain(state, "a"));
    BOOST_TEST(!undrain(state, "a"));
    BOOST_TEST(take(2, all_of({"a"}, shared)) == Keys{"a"});
}

BOOST_FIXTURE_TEST_CASE(a_drain_ends_when_its_time_is_over, Host)
{
    drain(state, {"a", 7, 100, "Xid 79"});
    drain(state, {"b", 7});
    expire(state, 99);
    BOOST_TEST(state.drains.size() == 2);
    expire(state, 100);
    BOOST_TEST((state.drains == std::vector<Drain>{{"b", 7}}));
    BOOST_TEST(!drain(state, {"b", 8, 50, "dust"}));
    BOOST_TEST((state.drains == std::vector<Drain>{{"b", 7, 50, "dust"}}));
}

BOOST_FIXTURE_TEST_CASE(a_program_ends_only_what_it_has_drained_and_a_person_ends_both, Host)
{
    BOOST_TEST(drain(state, {"a", 7, 0, "dust"}));
    BOOST_TEST(drain(state, {"a", 8, 0, "Xid 79", "check"}));
    BOOST_TEST(!drain(state, {"a", 9, 0, "Xid 48", "check"}));
    BOOST_TEST(state.drains.size() == 2);
    BOOST_TEST(undrain(state, "a", "check"));
    BOOST_TEST(!undrain(state, "a", "check"));
    BOOST_TEST((state.drains == std::vector<Drain>{{"a", 7, 0, "dust"}}));
    drain(state, {"a", 8, 0, "Xid 79", "check"});
    BOOST_TEST(undrain(state, "a"));
    BOOST_TEST(state.drains.empty());
}

BOOST_FIXTURE_TEST_CASE(who_has_a_device_keeps_it_when_it_is_drained, Host)
{
    take(1, all_of({"a"}, shared));
    drain(state, {"a", 7});
    BOOST_TEST(take(1, all_of({"a"}, shared)) == Keys{"a"});
    BOOST_TEST(take(1, all_of({"a"}, exclusive)).empty());
}

BOOST_AUTO_TEST_SUITE_END()
