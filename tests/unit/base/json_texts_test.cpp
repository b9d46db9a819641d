// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "base/json.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(json_texts)

using namespace ogh;
using nlohmann::json;
using ogh::test::failure_of;

namespace {

bool is_refused(const std::string &text)
{
    return !failure_of([&] { parse_object(text, "it"); }).message.empty();
}

} // namespace

BOOST_AUTO_TEST_CASE(it_is_as_the_library_reads_it)
{
    const char *const text = R"({"a":{"b":[{"c":null}]},"d":"e"})";
    BOOST_TEST(parse_object(text, "it") == json::parse(text));
}

BOOST_AUTO_TEST_CASE(it_is_checked_as_the_library_does)
{
    for (const char *value : {"1",
                              "-0",
                              "01",
                              "1.5e3",
                              "1e999",
                              "1.",
                              "+1",
                              "-",
                              "12345678901234567890123",
                              "true",
                              "trUe",
                              "nul",
                              "\"\"",
                              "\"\\u00zz\"",
                              "\"\\ud800\"",
                              "\"\\x\"",
                              "\"\xff\"",
                              "\"ä\"",
                              "\"\t\"",
                              "\"",
                              "\"\\\"",
                              "[",
                              "[]",
                              "[1,]",
                              "[,1]",
                              "[1 2]",
                              "{",
                              "{}",
                              "{\"k\"}",
                              "{\"k\":}",
                              "{\"k\":1,}",
                              "{1:2}",
                              "{\"k\":1 \"l\":2}",
                              "[[{\"k\":[\"\\\\\"]}]]",
                              "",
                              "]",
                              "}",
                              "/**/1",
                              "'a'"}) {
        const std::string text = std::string(R"({"b":)") + value + R"(,"c":0})";
        BOOST_TEST(is_refused(text) == !json::accept(text), text);
    }
    for (const char *text : {"{} x", "{}{}", "[]", "7", "", "{\"a\":1", "\"a\"", "{\"a\" 1}", "{,}"})
        BOOST_TEST(is_refused(text), text);
}

BOOST_AUTO_TEST_CASE(nesting_has_a_limit_wherever_it_is)
{
    const auto nested = [](size_t depth, const std::string &name) {
        return "{\"" + name + "\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
    };
    for (const char *name : {"a", "b"}) {
        BOOST_TEST(!is_refused(nested(63, name)));
        BOOST_TEST(
            failure_of([&] { parse_object(nested(64, name), "it"); }).says("nested deeper than 64 levels"));
    }
}

BOOST_AUTO_TEST_SUITE_END()
