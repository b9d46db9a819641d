// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "edits/inner_path.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(inner_path)

using namespace ogh;
using ogh::test::failure_of;

BOOST_AUTO_TEST_CASE(a_path_is_taken_apart_at_its_last_name)
{
    const InnerPath deep = InnerPath::parse("/usr/local/nvidia");
    BOOST_TEST(deep.parent == "/usr/local");
    BOOST_TEST(deep.name == "nvidia");
    BOOST_TEST(deep.full() == "/usr/local/nvidia");
    const InnerPath top = InnerPath::parse("/srv");
    BOOST_TEST(top.parent == "/");
    BOOST_TEST(top.full() == "/srv");
}

BOOST_AUTO_TEST_CASE(a_path_that_is_not_plain_is_refused)
{
    for (const std::string &path :
         {std::string(), std::string("srv"), std::string("/"), std::string("//srv"), std::string("/srv/"),
          std::string("/srv/../etc"), std::string("/srv/."), std::string("/.."), std::string("/a\0b", 4)})
        BOOST_TEST((failure_of([&] { InnerPath::parse(path); }).kind == ErrorKind::Usage), path);
}

BOOST_AUTO_TEST_CASE(a_path_with_odd_names_is_not)
{
    BOOST_TEST(InnerPath::parse("/a b/...").name == "...");
    BOOST_TEST(InnerPath::parse("/srv/\n\xff").name == "\n\xff");
}

BOOST_AUTO_TEST_SUITE_END()
