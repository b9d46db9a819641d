// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "lease/lease_people.h"

BOOST_AUTO_TEST_SUITE(lease_people)

using namespace ogh;

BOOST_AUTO_TEST_CASE(what_is_written_is_read_again)
{
    const ContainerLabel label{"na me\n", "im,age\xff", "", "key:a", "/b"};
    const std::string text =
        people_line({1, 2}, {}) + people_line({3, 4}, label) + people_line({1, 2}, label);
    const LeasePeople people{{{1, 2}, label}, {{3, 4}, label}};
    BOOST_TEST((parse_people(text) == people));
}

BOOST_AUTO_TEST_CASE(a_line_that_is_none_says_nothing_and_the_others_count)
{
    const std::string line = people_line({1, 2}, {"n", "", "", "", ""});
    for (size_t length = 0; length + 1 < line.size(); ++length) {
        const LeasePeople people =
            parse_people(line.substr(0, length) + "\ncontainer\n\n" + people_line({3, 4}, {}));
        BOOST_TEST((people == LeasePeople{{{3, 4}, {}}} || length + 2 == line.size()), length);
    }
}

BOOST_AUTO_TEST_CASE(a_container_has_a_bounded_part_of_the_file)
{
    const std::string most(size_t{1} << 20U, '\x1b');
    BOOST_TEST(people_line({1, 2}, {most, most, most, most, most}).size() < 3072);
}

BOOST_AUTO_TEST_SUITE_END()
