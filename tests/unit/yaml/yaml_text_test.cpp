// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "support/expect.h"
#include "yaml/yaml_text.h"

BOOST_AUTO_TEST_SUITE(yaml_text)

using namespace ogh;
using test::failure_of;

namespace {

/** As JSON that does without quotes, with ' in front of what has them. */
std::string written(const YamlDocument &document, const YamlNode &node)
{
    if (node.type == YamlNode::Type::Scalar)
        return (node.plain ? "" : "'") + std::string(document.text(node));
    const bool is_list = node.type == YamlNode::Type::Sequence;
    std::string text = is_list ? "[" : "{";
    for (size_t i = 0; i < YamlDocument::size(node); ++i)
        text += (i == 0                   ? ""
                 : !is_list && i % 2 == 1 ? ":"
                                          : ",") +
                written(document, document.member(node, i));
    return text + (is_list ? "]" : "}");
}

std::string read(const std::string &text)
{
    const YamlDocument document = read_yaml(text);
    return document.root() == nullptr ? "nothing" : written(document, *document.root());
}

std::string why_not(const std::string &text)
{
    return failure_of([&] { static_cast<void>(read_yaml(text)); }).message;
}

/** A text in which each name repeats the one before as often as `repeated` says. */
std::string chain(int length, const std::string &first,
                  const std::function<std::string(const std::string &)> &repeated)
{
    std::string text = "a0: &a0 " + first + "\n";
    for (int i = 1; i < length; ++i)
        text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " " +
                repeated("*a" + std::to_string(i - 1)) + "\n";
    return text;
}

} // namespace

BOOST_AUTO_TEST_CASE(values_keep_their_place_and_their_quotes)
{
    BOOST_TEST(read("a: [1, '2', \"3\\n\"]\nb: {c: d}\n? [x]\n: |\n  y\n") ==
               "{a:[1,'2,'3\n],b:{c:d},[x]:'y\n}");
    BOOST_TEST(read("{\"a\": [], \"b\": {\"c\": true}}") == "{'a:[],'b:{'c:true}}");
    BOOST_TEST(read("7") == "7");
    BOOST_TEST(read("# nothing\n") == "nothing");
    BOOST_TEST(read_yaml(std::string_view()).root() == nullptr);
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

BOOST_AUTO_TEST_CASE(aliases_are_what_their_anchors_name)
{
    BOOST_TEST(read("a: &x [1]\nb: *x\nc: &x 2\ne: *x") == "{a:[1],b:[1],c:2,e:2}");
    BOOST_TEST(read("a: &x [&x 1]\nb: *x") == "{a:[1],b:1}");
}

BOOST_AUTO_TEST_CASE(what_is_no_yaml_is_refused_with_its_line)
{
    BOOST_TEST(why_not("a: [b\nc: d").starts_with("it is no YAML, line 2: "));
    BOOST_TEST(why_not("a: 1\nb: *x") == "it is no YAML, line 2: an alias of nothing");
    BOOST_TEST(why_not("a: &x [*x]") == "it is no YAML, line 1: an alias within what it repeats");
    BOOST_TEST(why_not("a: &x {b: &y [*x]}") == "it is no YAML, line 1: an alias within what it repeats");
    BOOST_TEST(!why_not(std::string("a: x\0y", 6)).empty());
    BOOST_TEST(!why_not("a: \xff").empty());
    BOOST_TEST((failure_of([] { static_cast<void>(read_yaml("[")); }).kind == ErrorKind::BrokenHost));
}

BOOST_AUTO_TEST_CASE(what_is_nested_is_bounded)
{
    BOOST_TEST(why_not(std::string(64, '[') + std::string(64, ']')).empty());
    BOOST_TEST(why_not(std::string(65, '[')).find("deeper than 64") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_aliases_nest_is_bounded)
{
    const auto within = [](const std::string &alias) { return "[" + alias + "]"; };
    BOOST_TEST(why_not(chain(63, "[]", within)).empty());
    BOOST_TEST(why_not(chain(80, "[]", within)).find("deeper than 64") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_aliases_repeat_is_bounded)
{
    const auto tenfold = [](const std::string &alias) {
        std::string list = "[" + alias;
        for (int i = 1; i < 10; ++i)
            list += "," + alias;
        return list + "]";
    };
    BOOST_TEST(why_not(chain(5, "x", tenfold)).empty());
    BOOST_TEST(why_not(chain(8, "x", tenfold)).find("too large") != std::string::npos);
    // A long text weighs more than a short one: whoever follows the aliases may copy it.
    BOOST_TEST(why_not(chain(5, std::string(64000, 'x'), tenfold)).find("too large") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
