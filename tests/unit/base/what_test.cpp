// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <boost/test/unit_test.hpp>

#include "base/what.h"

BOOST_AUTO_TEST_SUITE(what)

using namespace ogh;

namespace {

std::string said(const What &what)
{
    return what.text();
}

} // namespace

BOOST_AUTO_TEST_CASE(words_are_said_as_they_are)
{
    BOOST_TEST(said("the cgroup '/a\n'") == "the cgroup '/a\n'");
    BOOST_TEST(said(std::string("a") + "b") == "ab");
    BOOST_TEST(said("").empty());
}

BOOST_AUTO_TEST_CASE(a_path_is_quoted)
{
    BOOST_TEST(said(What::path("/a\n'b")) == "'/a\\n\\'b'");
    BOOST_TEST(said(What::path("/a", " in the container")) == "'/a' in the container");
    BOOST_TEST(said(What::path("")) == "''");
    BOOST_TEST(said(What::doing("mounting at ", "/a\x1b")) == "mounting at '/a\\x1b'");
}

BOOST_AUTO_TEST_SUITE_END()
