// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "ldcache-update/library_request.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(ldcache_update_library_request)

using namespace ogh;
using namespace ogh::ldcache_update;
using ogh::test::failure_of;

namespace {

LibraryRequest parse(const std::string &value, const std::vector<std::string> &further = {})
{
    return parse_library_request({value, "annotation 'k'"}, further);
}

} // namespace

BOOST_AUTO_TEST_CASE(auto_and_directories_stand_side_by_side_in_order_and_none_twice)
{
    BOOST_TEST((parse("auto") == LibraryRequest{true, {}}));
    BOOST_TEST((parse("/b/c , /a,auto, /b/c/") == LibraryRequest{true, {"/b/c", "/a"}}));
    BOOST_TEST((parse(" /a/// ") == LibraryRequest{false, {"/a"}}));
}

BOOST_AUTO_TEST_CASE(the_hosts_directories_go_last)
{
    BOOST_TEST((parse("/a,auto", {"/host/", "/a"}) == LibraryRequest{true, {"/a", "/host"}}));
}

BOOST_AUTO_TEST_CASE(none_is_nothing_at_all)
{
    BOOST_TEST((parse(" none ", {"/host"}) == LibraryRequest{}));
}

BOOST_AUTO_TEST_CASE(what_is_no_directory_of_a_container_is_refused)
{
    for (const char *value : {"a",    "./a",    "/",      "///",      "/a//b",     "/a/../b", "/a/.",
                              "..",   "/a,,/b", "/a,",    ",",        "auto,none", "none,/a", "/a:b",
                              "/a b", "/a\tb",  "/a\n/b", "/a=libc6", "/a#b",      "/a;b",    "/a]:b"}) {
        const auto failure = failure_of([&] { parse(value); });
        BOOST_TEST((failure.kind == ErrorKind::Usage), value);
        BOOST_TEST(failure.says("annotation 'k'"), failure.message);
    }
    const auto failure = failure_of([] { parse("/a", {"relative"}); });
    BOOST_TEST((failure.kind == ErrorKind::Usage));
    BOOST_TEST(failure.says("--directory"), failure.message);
}

BOOST_AUTO_TEST_CASE(there_is_a_limit_on_directories)
{
    std::string value = "/a";
    for (int i = 1; i < 256; ++i)
        value += ",/a" + std::to_string(i) + ",/a";
    BOOST_TEST(parse(value).directories.size() == 256U);
    BOOST_TEST(failure_of([&] { parse(value, {"/b"}); }).says("more than 256 directories"));
}

BOOST_AUTO_TEST_SUITE_END()
