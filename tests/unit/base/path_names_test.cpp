// SPDX-License-Identifier: Apache-2.0
#include <map>

#include <boost/test/unit_test.hpp>

#include "base/path_names.h"

BOOST_AUTO_TEST_SUITE(path_names)

using namespace ogh;

BOOST_AUTO_TEST_CASE(what_dots_lead_to)
{
    const std::map<std::string, std::string> cleaned{
        {"", "/"},        {"/", "/"},        {"a", "/a"},          {"//a//b/", "/a/b"}, {"/a/./b/.", "/a/b"},
        {"/a/..", "/"},   {"/a/../b", "/b"}, {"/../../a", "/a"},   {"/a/b/../..", "/"}, {"/a b/ ", "/a b/ "},
        {"/...", "/..."}, {"/..a", "/..a"},  {"/a/b/../c", "/a/c"}};
    for (const auto &[path, clean] : cleaned)
        BOOST_TEST(without_dots(path) == clean);
}

BOOST_AUTO_TEST_SUITE_END()
