// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <boost/test/unit_test.hpp>

#include "support/yaml_values.h"
#include "yaml/plain_json.h"

BOOST_AUTO_TEST_SUITE(plain_json)

using namespace ogh;
using test::read_values;

namespace {

bool is_plain(const std::string &text)
{
    return test::is_understood(read_plain_json, text);
}

} // namespace

BOOST_AUTO_TEST_CASE(it_is_read_as_the_library_reads_it)
{
    for (const char *text : {"{}", "{\"a\":1}", "{\"a\": [], \"b\": {}, \"\": \"\"}\n",
                             "{\n\t\"a\": \"x y: #z, [{'\",\n\t\"b\":\n0660}",
                             "{\"a\": [1, -2.5e+3 ,\"3\",\n true,false , null, [[{\"x\": [\n]}]]]\n}\n\n",
                             "{\"a\": \"\\\"\\\\\\/\\\"\"}", "{\"\\/\": 0, \"a\": 1, \"a\": 2}",
                             "{\"a\": 08, \"b\": 1-2, \"c\": 1..2, \"d\": 0e}"})
        BOOST_TEST_CONTEXT(text)
        {
            BOOST_TEST(is_plain(text));
            BOOST_TEST(read_values(text) == read_values(std::string(text) + " #")); // JSON has no comments
        }
}

// What is taken for what, tests/integration/cdi-devices/test_cdi_yaml.py tries with many more, beside another library.
BOOST_AUTO_TEST_CASE(whatever_else_there_is_the_library_reads)
{
    for (const char *text : {"",
                             " {}",
                             "[]",
                             "{",
                             "{}}",
                             "{} x",
                             "{a: 1}",
                             "{\"a\"}",
                             "{\"a\" : 1}",
                             "{\"a\": 1,}",
                             "{\"a\": [,]}",
                             "{\"a\": [1 2]}",
                             "{\"a\": [1}",
                             "{\"a\": 1 # x\n}",
                             "{\"a\": truex}",
                             "{\"a\": +1}",
                             "{\"a\": 0x1}",
                             "{\"a\": 'x'}",
                             "{\"a\": \"x\"y}",
                             "{\"a\": \"\\u0041\"}",
                             "{\"a\": \"x",
                             "{\"a\": \"x\ty\"}",
                             "{\"a\": \"ä\"}",
                             "{\"a\":\r1}",
                             "{\"a\": &x 1, \"b\": *x}",
                             "{\"a\": !!str 1}"})
        BOOST_TEST_CONTEXT(text)
        {
            BOOST_TEST(!is_plain(text));
        }
    BOOST_TEST(!is_plain(std::string("{\"a\": \"\0\"}", 10)));
    BOOST_TEST(is_plain("{\"" + std::string(900, 'a') + "\": 1}"));
    BOOST_TEST(!is_plain("{\"" + std::string(1100, 'a') + "\": 1}"));
    BOOST_TEST(read_values("{'a': 1}") == "1{1<a>1p<1>}");
}

BOOST_AUTO_TEST_CASE(it_is_bounded_as_all_is)
{
    const auto nested = [](size_t depth) {
        return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
    };
    BOOST_TEST(read_values(nested(64)).starts_with("1{"));
    BOOST_TEST(read_values(nested(65)) == "it is no YAML, line 1: it is nested deeper than 64 levels");
    std::string many = "{\"a\":[0";
    for (size_t i = 0; i < YamlDocument::max_weight; ++i)
        many += ",0";
    BOOST_TEST(read_values(many + "]}") == "it is no YAML, line 1: it is too large");
}

BOOST_AUTO_TEST_SUITE_END()
