// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "base/table.h"

BOOST_AUTO_TEST_SUITE(table)

using namespace ogh;

BOOST_AUTO_TEST_CASE(columns_stand_two_blanks_apart)
{
    BOOST_TEST(to_text(Table{{"A", "LONG", "C"}, {"long", "", "x"}, {"", "y", ""}}) == "A     LONG  C\n"
                                                                                       "long        x\n"
                                                                                       "      y\n");
}

BOOST_AUTO_TEST_CASE(rows_of_any_length)
{
    BOOST_TEST(to_text(Table{}).empty());
    BOOST_TEST(to_text(Table{{}, {"a"}, {"", ""}, {"b", "c"}}) == "\na\n\nb  c\n");
}

BOOST_AUTO_TEST_CASE(characters_count_and_not_bytes)
{
    BOOST_TEST(to_text(Table{{"ü€𝄞", "x"}, {"abc", "y"}}) == "ü€𝄞  x\nabc  y\n");
}

BOOST_AUTO_TEST_CASE(nothing_reaches_the_terminal_but_text)
{
    BOOST_TEST(to_text(Table{{"a\x1b[2J\n\t\x7f", "b"}}) == "a\\x1b[2J\\x0a\\x09\\x7f  b\n");
    BOOST_TEST(to_text(Table{{"a\xc2\x9b"
                              "2J\xc2\xa0",
                              "b"}}) == "a\\xc2\\x9b2J\xc2\xa0  b\n");
    BOOST_TEST(to_text(Table{{"\u202ea", "b"}, {"c", "d"}}) == "\\xe2\\x80\\xaea  b\nc              d\n");
    BOOST_TEST(to_text(Table{{"a\xff", "b\xc2"}}) == "a\\xff  b\\xc2\n");
}

BOOST_AUTO_TEST_CASE(an_id_that_was_made_up_is_short_and_a_name_is_whole)
{
    BOOST_TEST(short_container(std::string(60, '0') + "beef") == "000000000000");
    BOOST_TEST(short_container("buildah-buildah3141592653") == "buildah-buildah3141592653");
    BOOST_TEST(short_container(std::string(63, '0')).size() == 63);
    BOOST_TEST(short_container(std::string(64, 'F')).size() == 64);
    BOOST_TEST(short_container(std::string(100, 'x')).size() == 64);
}

BOOST_AUTO_TEST_SUITE_END()
