// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "lease/rules/lease_rules.h"
#include "lease/state/lease_changes.h"

BOOST_AUTO_TEST_SUITE(early_exits)

using namespace ogh;

namespace {

constexpr std::int64_t second = 1'000'000'000;

/** A state that somebody has gone from, now and then. */
struct Host {
    LeaseState state{{}, {}, {}, {{"a", 1}, {"b", 2}}, 2};
    std::int64_t now = 100 * second;
    pid_t next = 1;

    /** A container that had them from a time on. @return its init */
    ProcessId had(const std::string &container, std::vector<LeaseKey> keys, std::int64_t seconds,
                  const std::map<ProcessId, std::string> &known = {})
    {
        LeaseState before = state;
        const ProcessId init{next++, 1};
        before.allocations.push_back({{init, true, {}, container}, {}, now - seconds * second});
        for (LeaseKey &key : keys)
            before.allocations.back().devices.push_back({std::move(key)});
        std::set<ProcessId> noted;
        for (int twice = 0; twice < 2; ++twice)
            note_early_exits(before, known, now, state, noted);
        return init;
    }

    LeaseKey chosen(const std::set<LeaseKey> &in_use = {}, const std::vector<LeaseKey> &keys = {"a", "b"})
    {
        const Demand demand{{}, 1, keys, LeaseMode::Exclusive};
        last = decide(state, {{99, 1}, demand, 0, in_use}, now);
        return last.granted->front();
    }

    Decision last;
};

} // namespace

BOOST_FIXTURE_TEST_CASE(after_three_containers_in_a_row_it_is_the_last_one_that_is_chosen, Host)
{
    for (const char *const container : {"x", "y"}) {
        had(container, {"a"}, 10);
        BOOST_TEST(chosen() == "a");
    }
    had("z", {"a"}, 0);
    BOOST_TEST(exits_early(state, "a"));
    BOOST_TEST(chosen() == "b");
    BOOST_TEST((last.passed_by == std::vector<LeaseKey>{"a"}));
    BOOST_TEST(chosen({}, {"a"}) == "a"); // never drained
    BOOST_TEST(last.passed_by.empty());
}

BOOST_FIXTURE_TEST_CASE(what_is_well_is_not_passed_by, Host)
{
    state.last_used = {{"a/0", 1}, {"a/1", 2}, {"b/0", 1}, {"b/1", 3}};
    for (const char *const container : {"x", "y", "z"})
        had(container, {"a/0"}, 1);
    const Demand demand{{}, 2, {"a/0", "a/1", "b/0", "b/1"}, LeaseMode::Exclusive};
    const Decision decision = decide(state, {{99, 1}, demand}, now);
    BOOST_TEST((*decision.granted == std::vector<LeaseKey>{"b/0", "b/1"}));
    BOOST_TEST((decision.passed_by == std::vector<LeaseKey>{"a/0"})); // and not a/1
}

BOOST_FIXTURE_TEST_CASE(a_container_that_is_started_again_is_one, Host)
{
    for (int time = 0; time < 9; ++time)
        had(time % 2 == 0 ? "x" : "y", {"a"}, 1);
    BOOST_TEST(!exits_early(state, "a"));
    had("z", {"a"}, 1);
    BOOST_TEST(exits_early(state, "a"));
}

BOOST_FIXTURE_TEST_CASE(one_that_was_there_for_longer_says_that_all_is_well, Host)
{
    for (const char *const container : {"x", "y", "z"})
        had(container, {"a", "b"}, 1);
    had("w", {"a"}, 11);
    BOOST_TEST(!exits_early(state, "a"));
    BOOST_TEST(exits_early(state, "b"));
    had("v", {"a"}, 1);
    BOOST_TEST(!exits_early(state, "a"));
}

BOOST_FIXTURE_TEST_CASE(who_was_ended_on_purpose_says_nothing, Host)
{
    for (const char *const container : {"x", "y", "z"})
        had(container, {"a"}, 1, {{{next, 1}, "not started"}});
    BOOST_TEST(state.early_exits.empty());
    for (const char *const container : {"x", "y", "z"})
        had(container, {"a"}, 1);
    had("w", {"a"}, 1, {{{next, 1}, "preempted: idle"}});
    BOOST_TEST(exits_early(state, "a"));
    had("w", {"a"}, 11, {{{next, 1}, "preempted: idle"}});
    BOOST_TEST(!exits_early(state, "a"));
}

BOOST_FIXTURE_TEST_CASE(what_somebody_uses_comes_after_what_nobody_does_and_before_what_ends_at_once, Host)
{
    BOOST_TEST(chosen({"a"}) == "b");
    BOOST_TEST((last.passed_by == std::vector<LeaseKey>{"a"}));
    BOOST_TEST(chosen({"b"}) == "a");
    BOOST_TEST(last.passed_by.empty());
    BOOST_TEST(chosen({"a", "b"}) == "a");
    for (const char *const container : {"x", "y", "z"})
        had(container, {"a"}, 1);
    BOOST_TEST(chosen({"b"}) == "b");
    BOOST_TEST(chosen({"a"}, {"a/0", "b"}) == "b"); // what is used is the whole GPU
}

BOOST_AUTO_TEST_SUITE_END()
