// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "listing/listing.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(listing)

using namespace ogh;
using ogh::test::failure_of;

namespace {

const HostListing two{
    {"things", {"name", "size", "state"}, {{"a", std::uint64_t{12}, ""}, {"b\xff\n", nullptr, "broken"}}},
    {{"version", "1.2"}, {"owner", nullptr}}};

} // namespace

BOOST_AUTO_TEST_CASE(people_get_a_table)
{
    BOOST_TEST(to_text(two, ListFormat::Table) == "version:  1.2\n"
                                                  "owner:    -\n"
                                                  "NAME       SIZE  STATE\n"
                                                  "a          12\n"
                                                  "b\\xff\\x0a  -     broken\n");
    BOOST_TEST(to_text(HostListing{{"things", {"name"}}}, ListFormat::Table) == "NAME\n");
    BOOST_TEST(to_text(HostListing{{"things", {"name"}}, {}, {}, "nothing"}, ListFormat::Screen) ==
               "nothing\n");
}

BOOST_AUTO_TEST_CASE(programs_get_json)
{
    const auto expected = nlohmann::json::parse(R"({"version":"1.2","owner":null,"things":[
        {"name":"a","size":12,"state":""},{"name":"b\\xff\n","size":null,"state":"broken"}]})");
    BOOST_TEST(nlohmann::json::parse(to_text(two, ListFormat::Json)) == expected);
    BOOST_TEST(to_text(HostListing{{"\u202e", {}}}, ListFormat::Json).find("\\u202e") != std::string::npos);
    BOOST_TEST(to_text(HostListing{{"things", {"name"}}}, ListFormat::Json) == "{\n  \"things\": []\n}\n");
}

BOOST_AUTO_TEST_SUITE_END()
