// SPDX-License-Identifier: Apache-2.0
//
// Whether another one may have what a container has, and from when; without any process.
#include <optional>

#include <boost/test/unit_test.hpp>

#include "lease/rules/preemption.h"

BOOST_AUTO_TEST_SUITE(preemptible)

using namespace ogh;

namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t taken = 5 * second;
constexpr std::int64_t now = taken + 20 * second;
constexpr std::uint64_t cpu = 70'000'000;

struct Case {
    Allocation allocation = {.holder = {{1, 1}, true, OwnCgroup{"", "/c", 0}, "c", true},
                             .devices = {{"a"}},
                             .taken_ns = taken,
                             .others_cpu_ns = cpu};
    PreemptionPolicy policy = {};
    Signs signs = {.only_waits = true, .others_cpu_ns = cpu};

    /** As what is looked at now shows it. */
    std::optional<Preemptible> get(std::int64_t when = now)
    {
        note_look(allocation, signs, when);
        return preemptible_of(allocation, policy, signs, when);
    }
};

/** After so many seconds from its lease on. */
void check(Case &asked, PreemptReason why, std::int64_t from, std::int64_t look_again)
{
    const auto found = asked.get();
    BOOST_TEST_REQUIRE(found.has_value());
    BOOST_TEST((found->why == why));
    BOOST_TEST((found->from_ns - taken) / second == from);
    BOOST_TEST((found->look_again_ns - taken) / second == look_again);
}

} // namespace

BOOST_FIXTURE_TEST_CASE(one_in_which_nothing_has_begun_has_longer, Case)
{
    check(*this, PreemptReason::NotBegun, 120, 21); // something may begin, and end, unseen
    policy.begin_within = std::chrono::seconds(20);
    check(*this, PreemptReason::NotBegun, 20, 20);
}

BOOST_FIXTURE_TEST_CASE(the_time_of_one_that_is_idle_counts_from_when_that_was_first_seen, Case)
{
    signs.company.emplace();
    BOOST_TEST(!get());
    allocation.has_begun = true;
    signs.company.reset();
    check(*this, PreemptReason::Idle, 21, 21);
    BOOST_TEST(get(now + 5 * second)->from_ns == now + second, "it is not put off by another look");
    signs.company.emplace();
    BOOST_TEST(!get(now + 6 * second));
    signs.company.reset();
    BOOST_TEST(get(now + 7 * second)->from_ns == now + 8 * second);
}

BOOST_FIXTURE_TEST_CASE(what_has_run_unseen_is_told_by_the_time_of_the_processor, Case)
{
    signs.others_cpu_ns = cpu + 4'000'000; // the clocks differ by less
    BOOST_TEST((get()->why == PreemptReason::NotBegun));
    signs.others_cpu_ns = cpu + 5'000'000;
    check(*this, PreemptReason::Idle, 21, 21);
    signs.others_cpu_ns = cpu + 10'000'000;
    BOOST_TEST(get(now + 5 * second)->from_ns == now + 6 * second, "it has worked meanwhile");
    signs.others_cpu_ns.reset();
    BOOST_TEST(get(now + 7 * second)->from_ns == now + 6 * second);
}

BOOST_FIXTURE_TEST_CASE(where_it_cannot_be_told_whether_something_has_run_it_has, Case)
{
    allocation.others_cpu_ns.reset();
    check(*this, PreemptReason::Idle, 21, 21);
}

BOOST_FIXTURE_TEST_CASE(a_process_that_cannot_be_held_is_no_sign_that_something_has_begun, Case)
{
    signs.company.emplace(); // not valid
    BOOST_TEST(!get());
    BOOST_TEST(!allocation.has_begun);
}

BOOST_FIXTURE_TEST_CASE(nobody_takes_from_one_whose_first_program_may_be_its_work, Case)
{
    allocation.has_begun = true;
    signs.only_waits = false;
    BOOST_TEST(!get());
}

BOOST_FIXTURE_TEST_CASE(one_that_was_never_started_may_be_taken_from_whatever_its_program, Case)
{
    signs = {.has_started = false};
    check(*this, PreemptReason::NeverStarted, 120, 120);
    BOOST_TEST(!allocation.has_begun);
    signs.only_waits = true;
    check(*this, PreemptReason::NeverStarted, 120, 21); // it may be started, and nobody is told
    policy.is_allowed = false;
    BOOST_TEST(!get());
}

BOOST_FIXTURE_TEST_CASE(one_with_a_limit_may_be_ended_whatever_it_does, Case)
{
    signs.only_waits = false;
    allocation.limit = HoldLimit{taken + 15 * second, second, 15};
    policy.is_allowed = false;
    check(*this, PreemptReason::HeldTooLong, 15, 15);
}

BOOST_FIXTURE_TEST_CASE(that_it_does_nothing_counts_first, Case)
{
    allocation.limit = HoldLimit{taken + 5 * second, second, 15};
    allocation.has_begun = true;
    allocation.idle_ns = taken + 10 * second;
    check(*this, PreemptReason::Idle, 11, 11);
    allocation.has_begun = false;
    allocation.idle_ns = 0;
    check(*this, PreemptReason::HeldTooLong, 5, 5);
}

BOOST_AUTO_TEST_SUITE_END()
