// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "base/duration.h"

BOOST_AUTO_TEST_SUITE(duration)

using namespace ogh;
using std::chrono::seconds;

BOOST_AUTO_TEST_CASE(digits_and_one_unit)
{
    BOOST_TEST((parse_duration("0s") == seconds(0)));
    BOOST_TEST((parse_duration("90s") == seconds(90)));
    BOOST_TEST((parse_duration("5m") == seconds(300)));
    BOOST_TEST((parse_duration("720h") == seconds(720 * 3600)));
    for (const char *text : {"", "5", "s", "m", "-5s", "+5s", "5 s", "5ms", "5s ", "1h30m", "0x5s", "5S",
                             "1.5h", "721h", "2592001s", "99999999999999999999s"})
        BOOST_TEST(!parse_duration(text), text);
}

BOOST_AUTO_TEST_CASE(the_greatest_unit_that_leaves_no_rest)
{
    BOOST_TEST(to_text(seconds(0)) == "0s");
    BOOST_TEST(to_text(seconds(90)) == "90s");
    BOOST_TEST(to_text(seconds(300)) == "5m");
    BOOST_TEST(to_text(seconds(7200)) == "2h");
}

BOOST_AUTO_TEST_SUITE_END()
