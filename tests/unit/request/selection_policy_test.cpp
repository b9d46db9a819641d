// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "request/selection.h"
#include "support/selection_case.h"

BOOST_AUTO_TEST_SUITE(selection_policy)

using namespace ogh;
using namespace ogh::test;

BOOST_AUTO_TEST_CASE(a_group_under_a_policy)
{
    BOOST_TEST(Case::allowing("1,3").choose("gfx1100") == "1 3");
    BOOST_TEST(Case::allowing("gfx1100").choose("all") == "0 1 2 3");
    Case host = Case::allowing("1,3");
    host.candidates[1].groups = host.candidates[3].groups = {"gfx90a"};
    BOOST_TEST((host.refuse("gfx1100").kind == ErrorKind::Denied));
}

BOOST_AUTO_TEST_CASE(the_allow_list_is_the_limit)
{
    BOOST_TEST(Case::allowing("1,card4").choose("all") == "1 3");
    BOOST_TEST(Case::allowing("0-1,GPU-9z").choose("1") == "1");
    BOOST_TEST(Case::allowing("all").choose("3") == "3");
    BOOST_TEST(Case::allowing("5e:00.0").choose("any:1") == "any:1 of 2");
    for (const char *value : {"2", "1-2", "GPU-2a", "5e:00.0"}) {
        const auto failure = Case::allowing("1,3").refuse(value);
        BOOST_TEST((failure.kind == ErrorKind::Denied), value);
        BOOST_TEST(
            failure.says("(--allow) does not allow it; this host's policy allows 1 (GPU-1a), 3 (GPU-3a)"),
            failure.message);
        BOOST_TEST(!failure.says("GPU-0a"));
    }
}

BOOST_AUTO_TEST_CASE(what_is_not_allowed_is_not_listed)
{
    BOOST_TEST(Case::allowing("1").refuse("7").message == "no GPU '7': this host's policy allows 1 (GPU-1a)");
}

BOOST_AUTO_TEST_CASE(an_allow_list_that_leaves_too_little)
{
    for (const char *value : {"all", "any:1"})
        BOOST_TEST((Case::allowing("7").refuse(value).kind == ErrorKind::Denied), value);
    const auto failure = Case::allowing("0").refuse("any:2");
    BOOST_TEST((failure.kind == ErrorKind::Denied));
    BOOST_TEST(failure.says("this host's policy allows 0 (GPU-0a)"), failure.message);
}

BOOST_AUTO_TEST_CASE(no_policy_refuses_what_is_allowed_and_not_in_order)
{
    Case host = Case::allowing("0-1");
    host.candidates[0].problem = host.candidates[1].problem = "it does not answer";
    for (const char *value : {"all", "any:1", "any:2"}) {
        const auto failure = host.refuse(value);
        BOOST_TEST((failure.kind == ErrorKind::NotAvailable), value);
        BOOST_TEST(
            failure.says("': this host's policy allows none; left out: 0 (GPU-0a), it does not answer, 1 ("),
            failure.message);
    }
    host.candidates[1].problem.clear();
    const auto failure = host.refuse("any:2");
    BOOST_TEST((failure.kind == ErrorKind::NotAvailable));
    BOOST_TEST(failure.says(
                   "2 GPUs are asked for, and there is 1: this host's policy allows 1 (GPU-1a); left out: 0"),
               failure.message);
    BOOST_TEST((host.refuse("any:3").kind == ErrorKind::Denied));
}

BOOST_AUTO_TEST_CASE(a_key_narrows_the_policy_and_widens_nothing)
{
    Case host = Case::allowing("0-2");
    host.policy.max_devices = 1;
    const KeyLimits limits{.allow = "1-3", .max_devices = 4, .allow_capabilities = {}};
    limit(host.policy, limits);
    BOOST_TEST(host.policy.max_devices.value() == 1);
    BOOST_TEST((host.refuse("0").kind == ErrorKind::Denied));
    BOOST_TEST((host.refuse("3").kind == ErrorKind::Denied));
    BOOST_TEST((host.refuse("1,2").kind == ErrorKind::Denied));
    BOOST_TEST(host.choose("2") == "2");
    BOOST_TEST(host.refuse("0").says("the host's policy (--allow) does not allow it"));
    BOOST_TEST(host.refuse("1,2").says("the host's policy (--max-devices) allows 1"));
    Case open = Case::allowing("all");
    limit(open.policy, limits);
    BOOST_TEST(open.choose("all") == "1 2 3");
    BOOST_TEST(open.policy.max_devices.value() == 4);
    BOOST_TEST(open.refuse("0").message ==
               "no GPU '0': the line of the key in --key-file (--allow) does not allow it; the key allows 1 "
               "(GPU-1a), 2 (GPU-2a), 3 (GPU-3a)");
    Case few = Case::at_most(2);
    limit(few.policy, {.allow = {}, .max_devices = 1, .allow_capabilities = {}});
    BOOST_TEST(few.refuse("1,2").says(
        "2 GPUs asked for, and the line of the key in --key-file (--max-devices) allows 1; "));
}

BOOST_AUTO_TEST_CASE(max_devices_is_the_limit_of_what_is_named)
{
    BOOST_TEST(Case::at_most(2).choose("0,3") == "0 3");
    BOOST_TEST(Case::at_most(2).choose("0,0,GPU-0a") == "0");
    for (const char *value : {"0-2", "0,any:2", "any:3"}) {
        const auto failure = Case::at_most(2).refuse(value);
        BOOST_TEST((failure.kind == ErrorKind::Denied), value);
        BOOST_TEST(failure.message ==
                   "3 GPUs asked for, and the host's policy (--max-devices) allows 2; this host has " +
                       std::string(all_four));
    }
}

BOOST_AUTO_TEST_CASE(all_is_any_of_them_where_max_devices_allows_less)
{
    Case host = Case::at_most(2);
    BOOST_TEST(host.choose("all") == "any:2 of 0 1 2 3");
    BOOST_REQUIRE(host.notes.size() == 1U);
    BOOST_TEST(host.notes[0].text == "--max-devices allows 2 of the 4 GPUs that were asked for");
    BOOST_TEST(host.choose("gfx1100") == "any:2 of 0 1 2 3");
    BOOST_TEST(host.choose("2,all") == "2 any:1 of 0 1 3");
    BOOST_TEST((host.refuse("gfx1100,any:1").kind == ErrorKind::Denied));
    BOOST_TEST(Case::at_most(4).choose("all") == "0 1 2 3");
}

BOOST_AUTO_TEST_CASE(no_device_is_allowed_by_a_limit_of_nothing)
{
    for (const char *value : {"all", "0", "any:1", "gfx1100"})
        BOOST_TEST((Case::at_most(0).refuse(value).kind == ErrorKind::Denied), value);
    BOOST_TEST(Case::at_most(0).choose("none").empty());
}

BOOST_AUTO_TEST_CASE(any_is_left_to_who_knows_what_is_free)
{
    Case host;
    BOOST_TEST(host.choose("any:1") == "any:1 of 0 1 2 3");
    BOOST_TEST(host.choose("1,any:1") == "1 any:1 of 0 2 3");
    BOOST_TEST((host.refuse("any:5").kind == ErrorKind::NotAvailable));
    BOOST_TEST((Case::at_most(1).refuse("1,any:1").kind == ErrorKind::Denied));
}

BOOST_AUTO_TEST_CASE(where_nothing_is_known_the_first_are_taken)
{
    BOOST_TEST((first_of({{1, 3}, 2, {0, 2, 4}}) == std::vector<size_t>{0, 1, 2, 3}));
}

BOOST_AUTO_TEST_SUITE_END()
