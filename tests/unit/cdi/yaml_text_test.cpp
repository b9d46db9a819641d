// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "cdi/yaml_text.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(yaml_text)

using namespace ogh;
using namespace ogh::cdi;
using test::failure_of;

namespace {

/** As JSON that does without quotes, with ' in front of what has them. */
std::string written(const YamlNode &node)
{
    if (node.type == YamlNode::Type::Scalar)
        return (node.plain ? "" : "'") + node.text;
    const bool is_list = node.type == YamlNode::Type::Sequence;
    std::string text;
    for (size_t i = 0; i < node.members.size(); ++i)
        text += (i == 0 ? "" : !is_list && i % 2 == 1 ? ":" : ",") + written(node.members[i]);
    return is_list ? "[" + text + "]" : "{" + text + "}";
}

std::string read(const std::string &text)
{
    const auto root = read_yaml(text);
    return root ? written(*root) : "nothing";
}

std::string why_not(const std::string &text)
{
    return failure_of([&] { static_cast<void>(read_yaml(text)); }).message;
}

} // namespace

BOOST_AUTO_TEST_CASE(values_keep_their_place_and_their_quotes)
{
    BOOST_TEST(read("a: [1, '2', \"3\\n\"]\nb: {c: d}\n? [x]\n: |\n  y\n") ==
               "{a:[1,'2,'3\n],b:{c:d},[x]:'y\n}");
    BOOST_TEST(read("{\"a\": [], \"b\": {\"c\": true}}") == "{'a:[],'b:{'c:true}}");
    BOOST_TEST(read("7") == "7");
    BOOST_TEST(read("# nothing\n") == "nothing");
    BOOST_TEST(!read_yaml(std::string_view()));
    BOOST_TEST(read("a: 1\n---\n[") == "{a:1}"); // only the first document is looked at
    BOOST_TEST(read("a: \"x\\0y\"") == std::string("{a:'x\0y}", 8));
}

BOOST_AUTO_TEST_CASE(tags_are_refused)
{
    for (const char *value :
         {"!!str 1", "! 2", "!own 3", "!!seq []", "!!map {}", "!<tag:yaml.org,2002:int> 5"})
        BOOST_TEST(why_not("a: 1\nb: " + std::string(value)).starts_with("it is no YAML, line 2: a tag, '"),
                   value);
}

BOOST_AUTO_TEST_CASE(aliases_are_refused)
{
    BOOST_TEST(read("a: &x [1]\nb: &y 2") == "{a:[1],b:2}"); // a name that nothing repeats
    for (const char *value : {"*x", "[*x]", "{*x : 1}", "{<<: *x}"})
        BOOST_TEST(why_not("a: &x {}\nb: " + std::string(value)) ==
                       "it is no YAML, line 2: an alias is not understood here: write what it stands for",
                   value);
}

BOOST_AUTO_TEST_CASE(what_is_no_yaml_is_refused_with_its_line)
{
    BOOST_TEST(why_not("a: [b\nc: d").starts_with("it is no YAML, line 2: "));
    BOOST_TEST(!why_not(std::string("a: x\0y", 6)).empty());
    BOOST_TEST(!why_not("a: \xff").empty());
    BOOST_TEST(why_not("{a: \n}: b}").starts_with("it is no YAML, line 2: ")); // behind what is whole
    BOOST_TEST((failure_of([] { static_cast<void>(read_yaml("[")); }).kind == ErrorKind::BrokenHost));
}

BOOST_AUTO_TEST_CASE(what_is_nested_is_bounded)
{
    BOOST_TEST(why_not(std::string(64, '[') + std::string(64, ']')).empty());
    BOOST_TEST(why_not(std::string(65, '[')).find("deeper than 64") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
