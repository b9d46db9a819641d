// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "base/text.h"

BOOST_AUTO_TEST_SUITE(text)

using namespace ogh;

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

BOOST_AUTO_TEST_CASE(quoted_text_cannot_reorder_or_hide_what_stands_beside_it)
{
    for (const char *hidden :
         {"\u00ad", "\u0605",     "\u061c",     "\u180e",     "\u200b",     "\u200f",    "\u2028", "\u2029",
          "\u202a", "\u202e",     "\u2060",     "\u2065",     "\u2066",     "\u2069",    "\u206f", "\ufeff",
          "\ufff9", "\U000110bd", "\U0001343f", "\U0001d17a", "\U000e0001", "\U000e0fff"}) {
        const std::string text = std::string("a") + hidden + "b";
        BOOST_TEST(quote(text).find(hidden) == std::string::npos);
        BOOST_TEST(quote(text).starts_with("'a\\x"), quote(text));
        BOOST_TEST(quote(text).ends_with("b'"), quote(text));
        BOOST_TEST(printable(text).find(hidden) == std::string::npos);
    }
    BOOST_TEST(quote("\u202e") == R"('\xe2\x80\xae')");
}

BOOST_AUTO_TEST_CASE(letters_beside_format_characters_stay)
{
    for (const char *plain :
         {"\u00a0", "\u00ac", "\u00ae", "\u0606", "\u061b", "\u200a", "\u2010", "\u2027", "\u202f", "\u205f",
          "\u2070", "\ufefe", "\uffff", "\U00013440", "\U000dffff", "\U000e1000", "\U0010ffff", "~"}) {
        BOOST_TEST(quote(plain) == "'" + std::string(plain) + "'");
        BOOST_TEST(printable(plain) == plain);
    }
}

BOOST_AUTO_TEST_CASE(printable_text_is_one_line_and_keeps_all_else)
{
    BOOST_TEST(printable("no 'x\\y' in größe") == "no 'x\\y' in größe");
    BOOST_TEST(printable("a\n\x1b[31m\xff\xc2\x9b") == R"(a\x0a\x1b[31m\xff\xc2\x9b)");
    BOOST_TEST(printable(printable("\xff\n")) == printable("\xff\n"));
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

BOOST_AUTO_TEST_CASE(a_part_is_taken_away_with_what_follows_it)
{
    std::string_view text = "a  b";
    BOOST_TEST(next_part(text, ' ') == "a");
    BOOST_TEST(next_part(text, ' ') == "");
    BOOST_TEST(next_part(text, ' ') == "b");
    BOOST_TEST(text.empty());
    BOOST_TEST(next_part(text, ' ') == "");
}

BOOST_AUTO_TEST_SUITE_END()
