// SPDX-License-Identifier: Apache-2.0
#include <array>

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
    constexpr std::array<KeptPath, 3> paths{{{"a/x"}, {"l/m/n"}, {"o"}}};
    return parse_object(text, "it", paths);
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

BOOST_AUTO_TEST_CASE(parts_are_kept_of_each_object_in_a_list)
{
    BOOST_TEST(kept(R"({"l":[{"m":{"n":[1],"a":2},"n":3},[{"m":[]}],4,"n",{}],"o":{"l":5}})") ==
               json::parse(R"({"l":[{"m":{"n":[1]}},[{"m":[]}],4,"n",{}],"o":{"l":5}})"));
    BOOST_TEST(kept(R"({"a":[ ],"l":[ { "m" : null } , { "m" : { "n" : { } } } ]})") ==
               json::parse(R"({"a":[],"l":[{"m":null},{"m":{"n":{}}}]})"));
}

BOOST_AUTO_TEST_CASE(of_a_list_what_is_marked_by_another_text_is_left_out)
{
    constexpr std::array<KeptPath, 2> paths{{{"l/t", "b"}, {"l/n"}}};
    const auto wanted = [&](const char *text) { return parse_object(text, "it", paths); };
    BOOST_TEST(wanted(R"({"l":[{"t":"a","n":1},{"n":2,"t":"b"},{"n":3},{"t":4},"b",{"n":[5],"t":"a"}]})") ==
               json::parse(R"({"l":[{"n":2,"t":"b"},{"n":3},{"t":4},"b"]})"));
    // Of equal names the last one counts, and what is escaped may be it.
    BOOST_TEST(wanted(R"({"l":[{"t":"a","t":"b"},{"t":"b","t":"a"},{"t":"\u0061"}]})") ==
               json::parse(R"({"l":[{"t":"b"},{"t":"a"}]})"));
    BOOST_TEST(wanted(R"({"l":[[{"t":"a"},{"t":"b"}],{"t":"a"}]})") == json::parse(R"({"l":[[{"t":"b"}]]})"));
    BOOST_TEST(wanted(R"({"l":{"t":"a","n":1}})") == json::parse(R"({"l":{"t":"a","n":1}})"));
    BOOST_TEST(wanted(R"({"l":[{"t":"a"}]})") == json::parse(R"({"l":[]})"));
}

BOOST_AUTO_TEST_CASE(a_name_is_a_whole_one)
{
    BOOST_TEST(kept(R"({"":{"o":1},"oo":2,"l":{"mm":3,"m":{"":4,"nn":5}},"x":6})") ==
               json::parse(R"({"l":{"m":{}}})"));
}

BOOST_AUTO_TEST_CASE(all_is_kept_where_nothing_is_said)
{
    const char *const text = R"({"a":{"b":[{"c":null}]},"d":"e"})";
    BOOST_TEST(parse_object(text, "it") == json::parse(text));
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
