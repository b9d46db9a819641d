// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <boost/test/unit_test.hpp>

#include "support/yaml_values.h"
#include "yaml/plain_block.h"

BOOST_AUTO_TEST_SUITE(plain_block)

using namespace ogh;
using test::read_values;

namespace {

bool is_plain(const std::string &text)
{
    return test::is_understood(read_plain_block, text);
}

} // namespace

BOOST_AUTO_TEST_CASE(it_is_read_as_the_library_reads_it)
{
    for (const char *text : {
             "a: 1",
             "a: 1\n",
             "---\na: 1\n",
             "a:   1",
             "a: \"x y: #z, [{'\"\nb: '\"x'\nc: ''\nd: \"\"\n",
             "a: -x\nb: --y\nc: /z\nd: .5\ne: 0660\nf: x y-z:w#v,[{'\\\nh: ---\ni: ...\n",
             "a.b/c_d-e: 1\n0: 2\ny: n\n",
             "a:\n  b:\n    c: 1\n  d: 2\ne: 3\n",
             "a:\n- 1\n- 2\nb: 3\n",
             "a:\n    - 1\n    - 2\nb:\n  - 3\n",
             "a:\n- b: 1\n  c:\n  - 2\n  - d: 3\n    e: 4\n  f: 5\n- g: 6\n",
             "a:\n  - b: 1\n    c:\n      - 2\n      - d: 3\n        e: 4\n    f: 5\n  - g: 6\nh: 7\n",
             "a:\n- - - 1\n    - 2\n  - 3\n- - b: 4\n    c: 5\n",
             "a:\n- b:\n  - 1\n  c: 2\n- d:\n    - 3\n",
             "a: 1\na: 2\n",
             "a:\n - 1\n - 0:0:0\n - \"0:0:0\"\n",
         })
        BOOST_TEST_CONTEXT(text)
        {
            BOOST_TEST(is_plain(text));
            BOOST_TEST(read_values(text) == read_values(std::string(text) + "\n#"));
        }
}

// What is taken for what, tests/integration/cdi-devices/test_cdi_yaml.py tries with many more, beside another library.
BOOST_AUTO_TEST_CASE(whatever_else_there_is_the_library_reads)
{
    for (const char *text : {"",
                             "---\n---\na: 1",
                             "a: 1\n...\n",
                             " a: 1",
                             "- 1",
                             "a: ",
                             "a:1",
                             "a : 1",
                             "? a",
                             "\"a\": 1",
                             "<<: 1",
                             "a: 1 ",
                             "a: x #y",
                             "a: 1\n\nb: 1",
                             "a: b: 1",
                             "a: - 1",
                             "a:\n- ",
                             "a:\n1",
                             "a:\nb: 1",
                             "a: 1\n  b",
                             "a: 1\n  b: 1",
                             "a:\n- 1\n  b: 2",
                             "a:\n  - 1\n- 2",
                             "a:\n  b: 1\n c: 2",
                             "a: \"x\ny\"",
                             "a: \"x\"y",
                             "a: \"\\n\"",
                             "a: 'x''y'",
                             "a: [1]",
                             "a: &x 1",
                             "a: *x",
                             "a: !!str 1",
                             "a: |\n  x",
                             "a: ~",
                             "a: +1",
                             "\ta: 1",
                             "a: 1\r\n",
                             "a: \x7f",
                             "a: \xc3\xa4"})
        BOOST_TEST_CONTEXT(text)
        {
            BOOST_TEST(!is_plain(text));
        }
    BOOST_TEST(!is_plain(std::string("a: x\0", 5)));
    BOOST_TEST(is_plain(std::string(900, 'a') + ": 1"));
    BOOST_TEST(!is_plain(std::string(1100, 'a') + ": 1"));
}

BOOST_AUTO_TEST_CASE(it_is_bounded_as_all_is)
{
    const auto nested = [](size_t depth) {
        std::string text = "a:\n";
        for (size_t i = 1; i < depth; ++i)
            text += "- ";
        return text + "1";
    };
    BOOST_TEST(read_values(nested(64)).starts_with("1{"));
    BOOST_TEST(read_values(nested(65)) == "it is no YAML, line 2: it is nested deeper than 64 levels");
    std::string many = "a:\n";
    for (size_t i = 0; i < YamlDocument::max_weight; ++i)
        many += "- 0\n";
    BOOST_TEST(read_values(many).ends_with("it is too large"));
}

BOOST_AUTO_TEST_SUITE_END()
