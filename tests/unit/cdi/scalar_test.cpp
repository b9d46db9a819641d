// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "cdi/spec_parser.h"
#include "cdi/yaml_text.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(scalar)

using namespace ogh;
using namespace ogh::cdi;
using ogh::test::Failure;
using ogh::test::failure_of;

namespace {

/** What stands there, in the words of `as`, or why not. */
template<typename Read> std::string read(const std::string &written, const Read &as)
{
    const auto root = read_yaml("\nx: " + written);
    const Value value(root->members.at(1));
    std::string text;
    const Failure failure = failure_of([&] { text = as(value); });
    return text + failure.message;
}

std::string text(const std::string &written)
{
    return read(written, [](const Value &value) { return value.text(); });
}

std::string number(const std::string &written)
{
    return read(written,
                [](const Value &value) { return std::to_string(value.number(INT64_MIN, INT64_MAX)); });
}

std::string flag(const std::string &written)
{
    return read(written, [](const Value &value) { return std::string(value.flag() ? "true" : "false"); });
}

bool is_to_be_quoted(const std::string &written)
{
    return text(written) ==
           "line 2: '" + written + "' may be a number or a word of YAML: where it is a text, quote it";
}

constexpr const char *no_number = "line 2: it is no whole number in decimal digits";
constexpr const char *no_flag = "line 2: it is neither true nor false";

} // namespace

BOOST_AUTO_TEST_CASE(what_programs_write)
{
    for (const char *written : {"0",      "1",      "432",    "-5",     "true", "false",    "x",
                                "/dev/x", "0.5.0",  "v0.5.0", "--link", "0:1",  "1g.5gb",   "none",
                                "now",    "offset", "~x",     "+",      ".",    "10.0.0.1", "nvidia.com/gpu"})
        BOOST_TEST(text(written) == written, written);
    for (const char *written : {"0660", "yes", "", "~", "0x10", "1.5"})
        BOOST_TEST(text("'" + std::string(written) + "'") == written, written);
    for (const char *null : {"", "~", "null"}) {
        BOOST_TEST(text(null).empty(), null);
        BOOST_TEST(number(null) == "0", null);
        BOOST_TEST(flag(null) == "false", null);
    }
    BOOST_TEST(number("-5") == "-5");
    BOOST_TEST(number("0660") == "432");
    BOOST_TEST(number("999999999999999999") == "999999999999999999");
    BOOST_TEST(flag("true") == "true");
}

BOOST_AUTO_TEST_CASE(what_may_be_something_else_is_to_be_quoted)
{
    for (const char *written : {"0660",
                                "00",
                                "0x10",
                                "-0X1f",
                                "0o17",
                                "0b101",
                                "0_x10",
                                "1_000",
                                "+5",
                                "-0",
                                "08",
                                "8.0",
                                "1e3",
                                ".5",
                                "-.5_0",
                                "1.",
                                "9223372036854775808",
                                ".inf",
                                "-.Inf",
                                "+.INF",
                                ".NaN",
                                "2001-01-01",
                                "y",
                                "N",
                                "Yes",
                                "on",
                                "OFF",
                                "True",
                                "FALSE",
                                "Null"}) {
        BOOST_TEST(is_to_be_quoted(written), written);
        BOOST_TEST(flag(written) == no_flag, written);
        if (std::string_view(written) != "0660" && std::string_view(written) != "00")
            BOOST_TEST(number(written) == no_number, written);
    }
}

BOOST_AUTO_TEST_CASE(what_is_something_else)
{
    for (const char *written : {"'5'", "x", "true", "[]", "{}", "''"})
        BOOST_TEST(number(written) == no_number, written);
    for (const char *written : {"'true'", "1", "x", "[]", "''"})
        BOOST_TEST(flag(written) == no_flag, written);
    for (const char *written : {"[]", "{}"})
        BOOST_TEST(text(written) == "line 2: it is no text", written);
}

BOOST_AUTO_TEST_SUITE_END()
