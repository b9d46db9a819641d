// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "ldcache-update/image.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(ldcache_update_listed_directories)

using namespace ogh;
using namespace ogh::ldcache_update;
using ogh::test::failure_of;

namespace {

using Directories = std::vector<std::string>;

} // namespace

BOOST_AUTO_TEST_CASE(each_line_is_a_directory_of_the_tree)
{
    BOOST_TEST(
        parse_directory_list("/usr/local/nvidia/lib64\n/usr/local/nvidia/lib\n", "/usr/local/nvidia") ==
            (Directories{"/usr/local/nvidia/lib64", "/usr/local/nvidia/lib"}),
        boost::test_tools::per_element());
    BOOST_TEST(parse_directory_list("/t\n\n/t\n", "/t") == Directories{"/t"},
               boost::test_tools::per_element());
    BOOST_TEST(parse_directory_list("", "/t").empty());
}

BOOST_AUTO_TEST_CASE(a_relative_line_is_a_directory_below_the_place_of_the_tmpfs)
{
    BOOST_TEST(parse_directory_list("lib64\nlib\n", "/usr/local/nvidia") ==
                   (Directories{"/usr/local/nvidia/lib64", "/usr/local/nvidia/lib"}),
               boost::test_tools::per_element());
    BOOST_TEST(parse_directory_list("t\n/t/t\na/b\n...\n", "/t") == (Directories{"/t/t", "/t/a/b", "/t/..."}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_list_with_anything_else_is_refused)
{
    for (const char *text : {"/usr/lib\n", "/tt\n", "/t/../usr/lib\n", "/\n", "/t/a\n/etc\n", "/t//a\n",
                             ".\n", "..\n", "../tt\n", "a/../../etc\n", "a//b\n", "a/\n", "./a\n", "a\n..\n"})
        BOOST_TEST(!failure_of([&] { parse_directory_list(text, "/t"); }).message.empty(), text);
    for (const std::string &text : {std::string("/t/a\0b\n", 7), std::string("a\0b\n", 4)})
        BOOST_TEST(!failure_of([&] { parse_directory_list(text, "/t"); }).message.empty());
    std::string many;
    for (int i = 0; i < 257; ++i)
        many += "/t/" + std::to_string(i) + "\n";
    BOOST_TEST(failure_of([&] { parse_directory_list(many, "/t"); }).says("more than 256 directories"));
}

BOOST_AUTO_TEST_SUITE_END()
