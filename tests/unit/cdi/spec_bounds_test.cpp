// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <boost/test/unit_test.hpp>

#include "cdi/spec_parser.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(spec_bounds)

using namespace ogh;
using namespace ogh::cdi;
using ogh::test::failure_of;

namespace {

std::string why_not(const std::string &text)
{
    return failure_of([&] { static_cast<void>(parse_spec(text)); }).message;
}

/** A specification in JSON, which is the quicker to read, with these devices. */
std::string with_devices(const std::string &devices)
{
    return R"({"cdiVersion":"0.6.0","kind":"v.com/c","devices":[)" + devices + "]}";
}

std::string device(const std::string &name, const std::string &edits = R"("env":["A=b"])")
{
    return R"({"name":")" + name + R"(","containerEdits":{)" + edits + "}}";
}

std::string repeated(const std::string &text, int count)
{
    std::string all = text;
    for (int i = 1; i < count; ++i)
        all += "," + text;
    return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(ten_thousand_devices_are_read)
{
    std::string devices = device("0");
    for (int i = 1; i < 10'000; ++i)
        devices += "," + device(std::to_string(i));
    BOOST_TEST(parse_spec(with_devices(devices)).devices.size() == 10'000U);
    BOOST_TEST(why_not(with_devices(devices + "," + device("77"))).find("two devices '77'") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_hundred_thousand_mounts_are_read_and_twice_as_many_refused)
{
    const std::string mount = R"({"hostPath":"/a","containerPath":"/b"})";
    const auto with_mounts = [&](int count) {
        return with_devices(device("a", R"("mounts":[)" + repeated(mount, count) + "]"));
    };
    BOOST_TEST(parse_spec(with_mounts(100'000)).devices.at(0).edits.mounts.size() == 100'000U);
    BOOST_TEST(why_not(with_mounts(200'000)) == "it is no YAML, line 1: it is too large");
}

BOOST_AUTO_TEST_CASE(what_is_nested_deep_is_refused)
{
    for (const char *bracket : {"[", "{\"a\":", "- ", "? "}) {
        std::string text;
        for (int i = 0; i < 100'000; ++i)
            text += bracket;
        BOOST_TEST(!why_not(text).empty());
    }
    BOOST_TEST(why_not("{\"a\":" + std::string(100'000, '[')) ==
               "it is no YAML, line 1: it is nested deeper than 64 levels");
}

BOOST_AUTO_TEST_CASE(a_nul_ends_no_path)
{
    BOOST_TEST(why_not(with_devices(device("a", R"("deviceNodes":[{"path":"/dev/a\u0000b"}])")))
                   .find("it has a NUL character") != std::string::npos);
    BOOST_TEST(!why_not(with_devices(device("a") + std::string(1, '\0'))).empty());
    BOOST_TEST(!why_not(with_devices(device("a")) + std::string(1, '\0')).empty());
}

BOOST_AUTO_TEST_CASE(a_comma_is_part_of_a_path_and_of_no_name)
{
    const auto spec = parse_spec(with_devices(device("a", R"("deviceNodes":[{"path":"/dev/a,b"}])")));
    BOOST_TEST(spec.devices.at(0).edits.nodes.at(0).path == "/dev/a,b");
    BOOST_TEST(!why_not(with_devices(device("a,b"))).empty());
    BOOST_TEST(
        !why_not(R"({"cdiVersion":"0.6.0","kind":"v.com/a,b","devices":[)" + device("a") + "]}").empty());
}

BOOST_AUTO_TEST_SUITE_END()
