// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "text.h"

using namespace ogh;

BOOST_AUTO_TEST_SUITE(text)

BOOST_AUTO_TEST_CASE(quoted_text_stands_in_single_quotes)
{
    BOOST_TEST(quote("datasets") == "'datasets'");
    BOOST_TEST(quote("") == "''");
    BOOST_TEST(quote("größe µ 数据") == "'größe µ 数据'");
}

BOOST_AUTO_TEST_CASE(quoted_text_cannot_break_the_line_or_drive_a_terminal)
{
    BOOST_TEST(quote("a\nb") == R"('a\nb')");
    BOOST_TEST(quote("\x1b[31m") == R"('\x1b[31m')");
    BOOST_TEST(quote("\x7f") == R"('\x7f')");
    BOOST_TEST(quote("\xc2\x9b"
                     "31m") == R"('\xc2\x9b31m')"); // CSI as one C1 control
    BOOST_TEST(quote("it's") == R"('it\'s')");
    BOOST_TEST(quote("a\\b") == R"('a\\b')");
    BOOST_TEST(quote(std::string("a\0b", 3)) == R"('a\x00b')");
}

BOOST_AUTO_TEST_CASE(bytes_that_are_not_utf8_are_escaped)
{
    BOOST_TEST(quote("a\xff") == R"('a\xff')");
    BOOST_TEST(quote("\xc3") == R"('\xc3')");                         // cut short
    BOOST_TEST(quote("\xc0\xaf") == R"('\xc0\xaf')");                 // overlong
    BOOST_TEST(quote("\xed\xa0\x80") == R"('\xed\xa0\x80')");         // surrogate
    BOOST_TEST(quote("\xf4\x90\x80\x80") == R"('\xf4\x90\x80\x80')"); // beyond U+10FFFF
    BOOST_TEST(quote("\x80") == R"('\x80')");
}

BOOST_AUTO_TEST_CASE(quoted_text_is_shortened)
{
    BOOST_TEST(quote("abcdef", 3) == "'abc…'");
    BOOST_TEST(quote("abc", 3) == "'abc'");
}

BOOST_AUTO_TEST_CASE(a_list_is_never_shortened)
{
    BOOST_TEST(quote_list({}) == "");
    BOOST_TEST(quote_list({"a", "b c"}) == "'a', 'b c'");
    BOOST_TEST(quote_list(std::vector<std::string>(1000, "abc")).size() == 1000 * 7 - 2);
}

BOOST_AUTO_TEST_CASE(json_text_is_always_utf8)
{
    BOOST_TEST(as_utf8("/srv/größe") == "/srv/größe");
    BOOST_TEST(as_utf8("/srv/a\xff\n") == "/srv/a\\xff\n");
}

BOOST_AUTO_TEST_CASE(lists_are_split_and_trimmed)
{
    BOOST_TEST(split_list("a, b ,\tc") == (std::vector<std::string>{"a", "b", "c"}),
               boost::test_tools::per_element());
    BOOST_TEST(split_list("a,,b") == (std::vector<std::string>{"a", "", "b"}),
               boost::test_tools::per_element());
    BOOST_TEST(split_list("") == (std::vector<std::string>{""}), boost::test_tools::per_element());
    BOOST_TEST(split_list("a b") == (std::vector<std::string>{"a b"}), boost::test_tools::per_element());
    BOOST_TEST(trimmed(" \t ").empty());
}

BOOST_AUTO_TEST_SUITE_END()
