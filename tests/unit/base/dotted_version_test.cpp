// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "base/dotted_version.h"

BOOST_AUTO_TEST_SUITE(dotted_version)

using namespace ogh;

BOOST_AUTO_TEST_CASE(parts_are_numbers_with_dots_between_them)
{
    BOOST_TEST(DottedVersion::parse("12")->text() == "12.0");
    BOOST_TEST(DottedVersion::parse("555.42.07")->text() == "555.42.7");
    BOOST_TEST(DottedVersion::parse("1.2.3.4")->text() == "1.2.3.4");
    for (const char *text :
         {"", ".", "1.", ".1", "1..2", "1.x", "-1", "1 .2", "1.\t2", "1.2.3.4.5", "99999999999999999999"})
        BOOST_TEST(!DottedVersion::parse(text), text);
    BOOST_TEST(!DottedVersion::parse("1.2.3.4", 3));
}

BOOST_AUTO_TEST_CASE(what_follows_a_version_does_not_matter)
{
    for (const char *text : {"6.1.0-39-amd64", "6.1", "6.1.rc1", "6.1+", "6.1.0"})
        BOOST_TEST((DottedVersion::parse_start(text) == DottedVersion{6, 1}), text);
    for (const char *text : {"", "6", "6.", "6-1.0", "v6.1", "-6.1"})
        BOOST_TEST(!DottedVersion::parse_start(text), text);
}

BOOST_AUTO_TEST_CASE(they_are_compared_as_numbers_and_a_missing_one_is_zero)
{
    BOOST_TEST((DottedVersion::parse("12.10") > DottedVersion::parse("12.9.99")));
    BOOST_TEST((DottedVersion::parse("12.5.0") == DottedVersion{12, 5}));
    BOOST_TEST((DottedVersion{13} > DottedVersion{12, 99}));
}

BOOST_AUTO_TEST_CASE(a_drivers_version_has_two_or_three)
{
    for (const char *text : {"555.42.07", "390.157", "1.2"})
        BOOST_TEST(is_driver_version(text), text);
    for (const char *text : {"", "1", "555.", "1.2.3.4", "555.42.x", "555.\t42"})
        BOOST_TEST(!is_driver_version(text), text);
}

BOOST_AUTO_TEST_SUITE_END()
