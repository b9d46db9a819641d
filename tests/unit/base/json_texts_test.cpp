// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "base/json.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(json_texts)

using namespace ogh;
using nlohmann::json;
using ogh::test::failure_of;

namespace {

json kept(const std::string &text)
{
    return parse_object(text, "it", [](const std::string &member, const std::string &inner) {
        return member == "a" && (inner.empty() || inner == "x");
    });
}

bool is_refused(const std::string &text)
{
    return !failure_of([&] { kept(text); }).message.empty();
}

} // namespace

BOOST_AUTO_TEST_CASE(what_is_kept_is_as_the_library_reads_it)
{
    BOOST_TEST(kept(R"({"b":{"a":1},"a":{"x":[1,{"y":"\n"}],"y":2,"x":{"z":3}},"c":[]})") ==
               json::parse(R"({"a":{"x":{"z":3}}})"));
    BOOST_TEST(kept(R"({"\u0061":{"\u0078":"\u00e4"}})") == json::parse(R"({"a":{"x":"ä"}})"));
    BOOST_TEST(kept(R"( { "a" : [ 1 , 2 ] , "a" : 7 } )") == json::parse(R"({"a":7})"));
    BOOST_TEST(kept(R"({"a":{"y":1}})") == json::parse(R"({"a":{}})"));
    BOOST_TEST(kept("{}") == json::object());
}

BOOST_AUTO_TEST_CASE(what_is_passed_over_is_checked_as_the_library_does)
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
        BOOST_TEST(failure_of([&] { kept(nested(64, name)); }).says("nested deeper than 64 levels"));
    }
}

BOOST_AUTO_TEST_SUITE_END()
