// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "oci/state.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(state)

using namespace ogh;
using ogh::test::failure_of;

BOOST_AUTO_TEST_CASE(runc_state_is_read)
{
    const State state = parse_state(R"({"ociVersion":"1.0.2-dev","id":"c1","status":"creating","pid":4242,
        "bundle":"/run/b","annotations":{"io.oci-gpu-hooks.mount-srv":"all"}})");
    BOOST_TEST(state.id == "c1");
    BOOST_TEST(state.pid == 4242);
    BOOST_TEST(state.bundle == "/run/b");
}

BOOST_AUTO_TEST_CASE(crun_state_is_read)
{
    const State state = parse_state(R"({"ociVersion":"1.0","id":"c2","pid":7,"root":"rootfs","bundle":"/b",
        "status":"created"})");
    BOOST_TEST(state.pid == 7);
}

BOOST_AUTO_TEST_CASE(youki_state_is_read)
{
    const State state =
        parse_state(R"({"ociVersion":"v1.0.2","id":"c3","status":"creating","pid":9,"bundle":"/b",
        "annotations":{},"created":"2026-01-01T00:00:00Z","creator":0,"useSystemd":false,"cleanUpIntelRdtSubdirectory":null})");
    BOOST_TEST(state.pid == 9);
}

BOOST_AUTO_TEST_CASE(a_restore_is_no_creation)
{
    // What runc 1.1 writes to the hooks of a container that it restores.
    const State state = parse_state(R"({"ociVersion":"1.0.2-dev","id":"x","status":"stopped","pid":1543,
        "bundle":"/b","annotations":{"io.oci-gpu-hooks.mount-srv":"all"}})");
    BOOST_TEST(state.pid == 1543);
    BOOST_TEST(state.not_creating == "stopped");
    for (const char *status : {"running", "paused"})
        BOOST_TEST(parse_state(std::string(R"({"bundle":"/b","status":")") + status + "\"}").not_creating ==
                   status);
    for (const char *status :
         {R"("creating")", R"("created")", R"("new")", R"("")", "null", "7", R"(["stopped"])"})
        BOOST_TEST(
            parse_state(std::string(R"({"bundle":"/b","status":)") + status + "}").not_creating.empty());
    BOOST_TEST(parse_state(R"({"bundle":"/b"})").not_creating.empty());
}

BOOST_AUTO_TEST_CASE(a_pid_may_be_absent_or_null)
{
    BOOST_TEST(parse_state(R"({"id":"c","bundle":"/b"})").pid == 0);
    BOOST_TEST(parse_state(R"({"id":"c","bundle":"/b","pid":null})").pid == 0);
    BOOST_TEST(parse_state(R"({"id":"c","bundle":"/b","pid":1})").pid == 1);
}

BOOST_AUTO_TEST_CASE(a_pid_that_is_no_pid_is_refused)
{
    for (const char *pid :
         {R"("12")", "1.5", "-1", "4294967296", "18446744073709551615", "1e3", "true", "[1]", "{}"}) {
        const auto failure =
            failure_of([&] { parse_state(std::string(R"({"id":"c","bundle":"/b","pid":)") + pid + "}"); });
        BOOST_TEST((failure.kind == ErrorKind::Failure), pid);
        BOOST_TEST(failure.says("pid"), failure.message);
    }
}

BOOST_AUTO_TEST_CASE(a_bundle_is_absolute)
{
    for (const char *bundle : {R"("b")", R"("")", "3", "null", R"("/b\u0000c")"}) {
        const auto failure =
            failure_of([&] { parse_state(std::string(R"({"id":"c","pid":3,"bundle":)") + bundle + "}"); });
        BOOST_TEST((failure.kind == ErrorKind::Failure), bundle);
        BOOST_TEST(failure.says("bundle"), failure.message);
    }
}

BOOST_AUTO_TEST_CASE(members_that_are_not_needed_may_have_any_type)
{
    BOOST_TEST(
        parse_state(R"({"id":"c","bundle":"/b","pid":3,"annotations":7,"status":[],"ociVersion":{}})").pid ==
        3);
}

BOOST_AUTO_TEST_CASE(what_is_no_state_is_refused_in_words)
{
    for (const char *text :
         {"", " ", "x", "[]", "3", "null", "{", R"({"id":)", R"({"id":"c","bundle":"/b"}x)",
          R"({"id":7,"bundle":"/b"})", "\xff\xfe", R"({"id":"c\xff","bundle":"/b"})"}) {
        const auto failure = failure_of([&] { parse_state(text); });
        BOOST_TEST((failure.kind == ErrorKind::Failure), text);
        BOOST_TEST(failure.says("the container's state on stdin"), failure.message);
        BOOST_TEST(failure.message.find('\n') == std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(a_number_too_large_for_the_machine_is_refused_without_repeating_it)
{
    const std::string digits(100000, '9');
    for (const std::string &text :
         {std::string("1e309"), R"({"x":)" + digits + "e9}", R"({"pid":)" + digits + "}"}) {
        const auto failure = failure_of([&] { parse_state(text); });
        BOOST_TEST((failure.kind == ErrorKind::Failure));
        BOOST_TEST(failure.message.size() < 200U);
    }
}

BOOST_AUTO_TEST_CASE(nothing_may_follow_behind_a_nul)
{
    const std::string text = R"({"id":"c","bundle":"/b"})";
    BOOST_TEST((failure_of([&] { parse_state(text + '\0' + "x"); }).kind == ErrorKind::Failure));
    BOOST_TEST((failure_of([&] { parse_state(text + '\0'); }).kind == ErrorKind::Failure));
}

BOOST_AUTO_TEST_CASE(deep_nesting_is_refused)
{
    const std::string deep = R"({"x":)" + std::string(100000, '[') + std::string(100000, ']') + "}";
    BOOST_TEST(failure_of([&] { parse_state(deep); }).says("nested deeper"));
    const std::string fine =
        R"({"id":"c","bundle":"/b","x":)" + std::string(60, '[') + std::string(60, ']') + "}";
    BOOST_TEST(parse_state(fine).id == "c");
}

BOOST_AUTO_TEST_SUITE_END()
