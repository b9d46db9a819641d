// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/request/requirement.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_requirement)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::failure_of;

namespace {

Requirement parsed(const std::string &text)
{
    return parse_requirement({text, "environment variable 'V'"});
}

/** CUDA 12.5 of driver 555.42.07, on a GeForce of compute capability 8.6. */
GpuFacts usual()
{
    return {KnownVersion{{12, 5}}, KnownVersion{{8, 6}}, "555.42.07", {"geforce", "geforcertx"}};
}

bool holds(const std::string &text)
{
    return is_met(parsed(text), usual()) == Answer::Yes;
}

bool fails(const std::string &text)
{
    return is_met(parsed(text), usual()) == Answer::No;
}

bool is_open(const std::string &text, const GpuFacts &facts)
{
    return is_met(parsed(text), facts) == Answer::NotKnown;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_operator)
{
    for (const char *text :
         {"cuda=12.5", "cuda!=12.4", "cuda<12.6", "cuda<=12.5", "cuda>12.4", "cuda>=12.5", "driver>=555",
          "driver<556", "arch>=8.0", "arch<9", "CUDA>=12", "Driver>555.42.6"})
        BOOST_TEST(holds(text), text);
    for (const char *text : {"cuda=12.4", "cuda!=12.5", "cuda<12.5", "cuda<=12.4", "cuda>12.5", "cuda>=12.6",
                             "driver>=555.42.08", "driver<555", "arch>=8.9", "arch!=8.6", "cuda>=13"})
        BOOST_TEST(fails(text), text);
}

BOOST_AUTO_TEST_CASE(versions_are_compared_part_by_part)
{
    for (const char *text : {"cuda=12.5.0.0", "cuda<12.10", "driver=555.42.7", "cuda>12.4.99", "cuda>9.9"})
        BOOST_TEST(holds(text), text);
    BOOST_TEST(fails("cuda>12.5.0"));
    BOOST_TEST(fails("cuda>=12.5.1"));
}

BOOST_AUTO_TEST_CASE(commas_join_and_blanks_separate)
{
    for (const char *text : {"cuda>=13 driver>=550", "driver>=550,driver<556", "cuda>=13 cuda>=14 arch>8",
                             "  cuda>=12  ", ",cuda>=12,,", "", " ", " , "})
        BOOST_TEST(holds(text), text);
    for (const char *text : {"cuda>=13 driver>=550,driver<551", "cuda>=12,arch>=9", "cuda>=13, driver>=600"})
        BOOST_TEST(fails(text), text);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_understood_is_refused_wherever_it_stands)
{
    for (const char *text : {"cuda",
                             "cuda>=",
                             ">=12",
                             "cuda=>12",
                             "cuda==12",
                             "cuda!12",
                             "cuda<>12",
                             "cuda>=12.",
                             "cuda>=.5",
                             "cuda>=12..1",
                             "cuda>=12.x",
                             "cuda>=-1",
                             "cuda>= 12",
                             "cuda >=12",
                             "gpu>=1",
                             "memory=1",
                             "brand<tesla",
                             "brand=",
                             "cuda>=99999999999999999999",
                             "cuda>=12 oops",
                             "cuda>=12,oops",
                             "cuda>=12\xff",
                             "cuda>=12;arch>=8"}) {
        const auto failure = failure_of([&] { parsed(text); });
        BOOST_TEST((failure.kind == ErrorKind::Usage), text);
        BOOST_TEST(failure.says("environment variable 'V'"), failure.message);
    }
}

BOOST_AUTO_TEST_CASE(brands_have_names_alone)
{
    GpuFacts facts = usual();
    facts.brands = {"geforce"};
    const auto answer = [&](const char *text) { return is_met(parsed(text), facts); };
    BOOST_TEST((answer("brand=geforce") == Answer::Yes));
    BOOST_TEST((answer("Brand=GeForce") == Answer::Yes));
    BOOST_TEST((answer("brand!=tesla") == Answer::Yes));
    BOOST_TEST((answer("brand=tesla") == Answer::No));
    BOOST_TEST((answer("brand!=geforce") == Answer::No));
}

BOOST_AUTO_TEST_CASE(of_two_possible_brands_it_may_not_matter_which)
{
    BOOST_TEST(is_open("brand=geforce", usual()));
    BOOST_TEST(is_open("brand!=geforce", usual()));
    BOOST_TEST(fails("brand=tesla"));
    BOOST_TEST(holds("brand!=tesla"));
    BOOST_TEST(holds("brand=geforce brand=geforcertx"));
    BOOST_TEST(holds("brand=geforce,driver>=555 brand=geforcertx,driver>=555"));
    BOOST_TEST(is_open("brand=geforce,driver>=555 brand=geforcertx,driver>=560", usual()));
    BOOST_TEST(fails("brand=geforce,driver>=560 brand=geforcertx,driver>=560"));
}

BOOST_AUTO_TEST_CASE(what_is_not_known_counts_only_where_it_decides)
{
    GpuFacts facts = usual();
    facts.arch = std::nullopt;
    BOOST_TEST(is_open("arch>=8", facts));
    BOOST_TEST(is_open("cuda>=12,arch>=8", facts));
    BOOST_TEST((is_met(parsed("cuda>=13,arch>=8"), facts) == Answer::No));
    BOOST_TEST((is_met(parsed("arch>=8 cuda>=12"), facts) == Answer::Yes));
    for (const char *text : {"cuda>=1", "driver>=1", "arch>=1", "brand=x"})
        BOOST_TEST(is_open(text, {}), text);
    BOOST_TEST((is_met(parsed(""), {}) == Answer::Yes));
}

BOOST_AUTO_TEST_CASE(of_a_newer_driver_the_least_is_known)
{
    GpuFacts facts;
    facts.cuda = KnownVersion{{13, 1}, true};
    const auto answer = [&](const char *text) { return is_met(parsed(text), facts); };
    for (const char *text : {"cuda>=13.1", "cuda>=12", "cuda>12", "cuda!=12"})
        BOOST_TEST((answer(text) == Answer::Yes), text);
    for (const char *text : {"cuda<13.1", "cuda<12", "cuda<=12", "cuda=12"})
        BOOST_TEST((answer(text) == Answer::No), text);
    for (const char *text :
         {"cuda>13.1", "cuda<=13.1", "cuda=13.1", "cuda!=13.1", "cuda>=13.2", "cuda<14", "cuda=14"})
        BOOST_TEST((answer(text) == Answer::NotKnown), text);
}

BOOST_AUTO_TEST_SUITE_END()
