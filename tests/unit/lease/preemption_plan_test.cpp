// SPDX-License-Identifier: Apache-2.0
//
// Which containers would be ended for a request; without any process.
#include <boost/test/unit_test.hpp>

#include "lease/rules/lease_rules.h"
#include "lease/rules/preemption.h"
#include "lease/state/lease_changes.h"

BOOST_AUTO_TEST_SUITE(preemption_plan)

using namespace ogh;

namespace {

using Keys = std::vector<LeaseKey>;

constexpr std::int64_t taken = 1;
constexpr std::int64_t may_end = 10'000'000'000;
constexpr std::int64_t now = 60'000'000'000;
const ProcessId own{99, 1};
constexpr std::int64_t grace = 30'000'000'000;

Holder idle_one(pid_t pid)
{
    return {{pid, 1}, true, OwnCgroup{"", "/c", 0}, "c", true};
}

struct Host {
    LeaseState state;

    void give(const Holder &holder, const Keys &keys)
    {
        Ticket request;
        request.demand.mode = LeaseMode::Exclusive;
        enter(state, holder, request, keys, taken);
    }

    /** What would be done for a request, if each holder may be ended. */
    PreemptPlan plan(const Demand &demand, std::int64_t when = now) const
    {
        const Claim claim{{1000, 1}, demand};
        Preemptibles preemptibles;
        for (const Allocation &allocation : state.allocations) {
            const auto why = allocation.limit ? PreemptReason::HeldTooLong : PreemptReason::Idle;
            preemptibles.emplace(allocation.holder.init, Preemptible{why, may_end, may_end});
        }
        return plan_preemption(state, claim, preemptibles, when);
    }

    std::vector<pid_t> ended_for(const Demand &demand) const
    {
        std::vector<pid_t> pids;
        for (const PreemptStep &step : plan(demand).steps)
            pids.push_back(step.signal ? -step.holder.init.pid : step.holder.init.pid);
        return pids;
    }

    /** Its limit, a new one. */
    HoldLimit &limited(pid_t pid)
    {
        return state.allocations.at(static_cast<size_t>(pid - 1))
            .limit.emplace(HoldLimit{may_end, grace, 15});
    }
};

Demand exclusive(Keys fixed, unsigned any = 0, Keys candidates = {})
{
    return {std::move(fixed), any, std::move(candidates), LeaseMode::Exclusive};
}

using Pids = std::vector<pid_t>;

} // namespace

BOOST_FIXTURE_TEST_CASE(no_more_are_ended_than_it_takes, Host)
{
    give(idle_one(1), {"a"});
    give(idle_one(2), {"b"});
    BOOST_TEST(ended_for(exclusive({}, 1, {"a", "b"})) == Pids{1}, boost::test_tools::per_element());
    BOOST_TEST(ended_for(exclusive({}, 2, {"a", "b"})) == (Pids{1, 2}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(who_is_not_in_the_way_is_not_ended, Host)
{
    give(idle_one(1), {"a"});
    give(idle_one(2), {"b"});
    give(idle_one(3), {"c"});
    remove_holder(state, {3, 1}); // c was used after b
    BOOST_TEST(ended_for(exclusive({"a"}, 1, {"b", "c"})) == Pids{1}, boost::test_tools::per_element());
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
        return ended_for({{}, any, {"d", "e"}, LeaseMode::Shared, quota});
    };
    BOOST_TEST(ended(1) == Pids{1}, boost::test_tools::per_element());
    BOOST_TEST(ended(2) == (Pids{1, 2}), boost::test_tools::per_element());
    BOOST_TEST(ended(3).empty());
}

BOOST_FIXTURE_TEST_CASE(of_those_who_share_no_more_are_ended_than_it_takes, Host)
{
    for (const pid_t pid : {1, 2})
        enter(state, idle_one(pid), {}, {"a"}, taken);
    BOOST_TEST(ended_for({{"a"}, 0, {}, LeaseMode::Shared, {}, 2}) == Pids{1},
               boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(who_may_be_ended_later_is_looked_at_again, Host)
{
    give(idle_one(1), {"a"});
    const PreemptPlan early = plan(exclusive({"a"}), taken);
    BOOST_TEST(early.steps.empty());
    BOOST_TEST((early.look_again == may_end));
}

BOOST_FIXTURE_TEST_CASE(one_with_a_limit_is_asked_once_and_ended_after_its_grace, Host)
{
    give(idle_one(1), {"a"});
    limited(1);
    const Demand demand = exclusive({"a"});
    const PreemptPlan first = plan(demand);
    BOOST_TEST(ended_for(demand) == Pids{-1}, boost::test_tools::per_element());
    BOOST_TEST((first.look_again == now + grace));
    note_steps(state, first, own, now - 1);
    BOOST_TEST(ended_for(demand).empty());
    BOOST_TEST((plan(demand).look_again == now - 1 + grace));
    limited(1).asked_ns = now - grace;
    BOOST_TEST(ended_for(demand) == Pids{1}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(one_whose_rules_are_known_is_left_alive_and_marked, Host)
{
    const auto is_left_alive = [&] { return plan(exclusive({"a"})).steps.at(0).is_left_alive; };
    give(idle_one(1), {"a"});
    Allocation &first = state.allocations.at(0);
    BOOST_TEST(!is_left_alive());
    first.rules = DeviceRules(); // not all that it has of a device is by rules
    BOOST_TEST(!is_left_alive());
    first.rules = {{DeviceRule::Type::Char, 195, 0}};
    BOOST_TEST(is_left_alive());
    note_steps(state, plan(exclusive({"a"})), own, now);
    BOOST_TEST((first.taker == own));
    first.holder.own_pid_namespace = false;
    BOOST_TEST(!is_left_alive());
    first.holder.own_pid_namespace = true;
    first.holder.cgroup.reset();
    BOOST_TEST(!is_left_alive());
    first.holder = idle_one(1);
    limited(1);
    BOOST_TEST(!is_left_alive());
}

BOOST_FIXTURE_TEST_CASE(while_one_has_time_left_nobody_else_is_ended, Host)
{
    give(idle_one(1), {"a"});
    give(idle_one(2), {"b"});
    limited(2);
    BOOST_TEST(ended_for(exclusive({"a", "b"})) == Pids{-2}, boost::test_tools::per_element());
    limited(2).asked_ns = now - 1;
    BOOST_TEST(ended_for(exclusive({"a", "b"})).empty());
    limited(2).asked_ns = now - grace;
    BOOST_TEST(ended_for(exclusive({"a", "b"})) == (Pids{1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
