// SPDX-License-Identifier: Apache-2.0
//
// Which containers would be ended for a request; without any process.
#include <boost/test/unit_test.hpp>

#include "lease/lease_changes.h"
#include "lease/lease_rules.h"
#include "lease/preemption.h"

BOOST_AUTO_TEST_SUITE(preemption)

using namespace ogh;

namespace {

using Keys = std::vector<LeaseKey>;

constexpr std::int64_t taken = 1;
constexpr std::int64_t now = 60'000'000'000;

Holder idle_one(pid_t pid)
{
    return {{pid, 1}, true, OwnCgroup{"", "/c", 0}, "c", "/tmp/gdn-init"};
}

struct Host {
    LeaseState state;

    void give(const Holder &holder, const Keys &keys)
    {
        Ticket request;
        request.demand.mode = LeaseMode::Exclusive;
        enter(state, holder, request, keys, taken);
    }

    /** The pids of those that would be ended for an exclusive lease. */
    std::vector<pid_t> ended_for(const Keys &fixed, unsigned any = 0, const Keys &candidates = {},
                                 std::int64_t when = now) const
    {
        const Demand demand{fixed, any, candidates, LeaseMode::Exclusive};
        const Claim claim{{1000, 1}, demand};
        std::vector<pid_t> pids;
        for (const Holder &holder :
             plan_preemption(state, claim, decide(state, claim, when).obstacles, {}, when).holders)
            pids.push_back(holder.init.pid);
        return pids;
    }
};

using Pids = std::vector<pid_t>;

} // namespace

BOOST_FIXTURE_TEST_CASE(no_more_are_ended_than_it_takes, Host)
{
    give(idle_one(1), {"a"});
    give(idle_one(2), {"b"});
    BOOST_TEST(ended_for({}, 1, {"a", "b"}) == Pids{1}, boost::test_tools::per_element());
    BOOST_TEST(ended_for({}, 2, {"a", "b"}) == (Pids{1, 2}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(who_is_not_in_the_way_is_not_ended, Host)
{
    give(idle_one(1), {"a"});
    give(idle_one(2), {"b"});
    give(idle_one(3), {"c"});
    remove_holder(state, {3, 1}); // c was used after b
    BOOST_TEST(ended_for({"a"}, 1, {"b", "c"}) == Pids{1}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(of_a_quota_no_more_are_ended_than_it_takes_on_whichever_device, Host)
{
    const Quotas quota = {{"key:q", 2}};
    for (const pid_t pid : {1, 2}) {
        Ticket request;
        request.demand.quotas = quota;
        enter(state, idle_one(pid), request, {pid == 1 ? "a" : "b"}, taken);
    }
    give(idle_one(3), {"c"});
    const auto ended = [&](unsigned any) {
        const Demand demand{{}, any, {"d", "e"}, LeaseMode::Shared, quota};
        const Claim claim{{1000, 1}, demand};
        std::vector<pid_t> pids;
        for (const Holder &holder :
             plan_preemption(state, claim, decide(state, claim, now).obstacles, {}, now).holders)
            pids.push_back(holder.init.pid);
        return pids;
    };
    BOOST_TEST(ended(1) == Pids{1}, boost::test_tools::per_element());
    BOOST_TEST(ended(2) == (Pids{1, 2}), boost::test_tools::per_element());
    BOOST_TEST(ended(3).empty());
}

BOOST_FIXTURE_TEST_CASE(of_those_who_share_no_more_are_ended_than_it_takes, Host)
{
    for (const pid_t pid : {1, 2})
        enter(state, idle_one(pid), {}, {"a"}, taken);
    const Demand demand{{"a"}, 0, {}, LeaseMode::Shared, {}, 2};
    const Claim claim{{1000, 1}, demand};
    const auto plan = plan_preemption(state, claim, decide(state, claim, now).obstacles, {}, now);
    BOOST_TEST_REQUIRE(plan.holders.size() == 1);
    BOOST_TEST(plan.holders.front().init.pid == 1);
}

BOOST_FIXTURE_TEST_CASE(only_an_idle_one_is_ended_that_ends_as_a_whole, Host)
{
    give(idle_one(1), {"a"});
    BOOST_TEST(ended_for({"a"}) == Pids{1}, boost::test_tools::per_element());
    BOOST_TEST(ended_for({"a"}, 0, {}, taken + 1).empty());
    Holder joined = idle_one(2);
    joined.own_pid_namespace = false;
    Holder without_cgroup = idle_one(3);
    without_cgroup.cgroup.reset();
    Holder busy = idle_one(4);
    busy.program = "/usr/bin/python3";
    for (const Holder &holder : {joined, without_cgroup, busy}) {
        state = {};
        give(holder, {"a"});
        BOOST_TEST(ended_for({"a"}).empty(), holder.init.pid);
    }
}

BOOST_AUTO_TEST_SUITE_END()
