// SPDX-License-Identifier: Apache-2.0
//
// Why a container may be ended, and from when; without any process.
#include <optional>

#include <boost/test/unit_test.hpp>

#include "lease/ending.h"

BOOST_AUTO_TEST_SUITE(ending)

using namespace ogh;

namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t taken = 5 * second;
constexpr std::int64_t now = taken + 20 * second;

struct Case {
    Allocation allocation = {{{1, 1}, true, OwnCgroup{"", "/c", 0}, "c", "/tmp/gdn-init"}, {{"a"}}, taken, 0};
    PreemptionPolicy policy = {};
    Signs signs = {};

    std::optional<Ending> get() const { return ending_of(allocation, policy, signs, now); }
};

/** After so many seconds from its lease on. */
void check(const Case &asked, EndReason why, std::int64_t from, std::int64_t look_again)
{
    const auto ending = asked.get();
    BOOST_TEST_REQUIRE(ending.has_value());
    BOOST_TEST((ending->why == why));
    BOOST_TEST((ending->from_ns - taken) / second == from);
    BOOST_TEST((ending->look_again_ns - taken) / second == look_again);
}

} // namespace

BOOST_FIXTURE_TEST_CASE(one_that_is_idle_may_be_ended_later_where_nothing_has_begun, Case)
{
    check(*this, EndReason::Idle, 10, 10);
    signs.has_begun = false;
    check(*this, EndReason::Idle, 600, 30);        // something may begin, and end, unseen
    policy.begin_within = std::chrono::seconds(1); // never earlier than where something has
    check(*this, EndReason::Idle, 10, 10);
    signs.company.emplace();
    BOOST_TEST(!get());
}

BOOST_FIXTURE_TEST_CASE(only_an_idle_one_may_be_ended_that_ends_as_a_whole, Case)
{
    const Holder idle = allocation.holder;
    allocation.holder.own_pid_namespace = false;
    BOOST_TEST(!get());
    allocation.holder = idle;
    allocation.holder.cgroup.reset();
    BOOST_TEST(!get());
    allocation.holder = idle;
    allocation.holder.program = "/usr/bin/python3";
    BOOST_TEST(!get());
    allocation.holder = idle;
    policy.is_allowed = false;
    BOOST_TEST(!get());
}

BOOST_FIXTURE_TEST_CASE(one_that_was_never_started_may_be_ended_whatever_its_program, Case)
{
    allocation.holder.program = "/usr/bin/python3";
    signs.has_started = false;
    check(*this, EndReason::NeverStarted, 60, 60);
    policy.is_allowed = false;
    BOOST_TEST(!get());
}

BOOST_FIXTURE_TEST_CASE(one_with_a_limit_may_be_ended_whatever_it_does, Case)
{
    allocation.holder.program = "/usr/bin/python3";
    allocation.limit = HoldLimit{taken + 15 * second, second, 15};
    policy.is_allowed = false;
    check(*this, EndReason::HeldTooLong, 15, 15);
}

BOOST_FIXTURE_TEST_CASE(that_it_does_nothing_counts_first, Case)
{
    allocation.limit = HoldLimit{taken + 5 * second, second, 15};
    check(*this, EndReason::Idle, 10, 10);
    signs.has_begun = false;
    check(*this, EndReason::HeldTooLong, 5, 5);
}

BOOST_AUTO_TEST_SUITE_END()
