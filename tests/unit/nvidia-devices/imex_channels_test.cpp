// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/request/imex_channels.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_imex_channels)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::failure_of;

namespace {

using Channels = std::vector<unsigned>;

Channels channels(const std::string &list)
{
    return parse_imex_channels({list, "annotation 'k'"});
}

Channels of_variable(const std::string &value)
{
    Config config;
    config.environment = {"NVIDIA_IMEX_CHANNELS=" + value};
    return imex_channels_of_environment(config);
}

ImexPolicy allowing(const std::string &list)
{
    return ImexPolicy({list, "option '--allow-imex'"});
}

Channels count_up(unsigned count)
{
    Channels all;
    for (unsigned channel = 0; channel < count; ++channel)
        all.push_back(channel);
    return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(numbers_and_ranges)
{
    BOOST_TEST((channels("0") == Channels{0}));
    BOOST_TEST((channels(" 7 ,0-2,\t1, 7") == Channels{0, 1, 2, 7}));
    BOOST_TEST((channels("1048575") == Channels{1048575}));
    BOOST_TEST((channels("0-255") == count_up(256)));
    BOOST_TEST((channels("0-255,0-255,255") == count_up(256)));
}

BOOST_AUTO_TEST_CASE(what_is_no_channel_is_refused)
{
    for (const char *list : {"",      ",",         "0,",           "-1",  "1048576", "99999999999999999999",
                             "01",    "0x1",       "1-0",          "0-",  "0--1",    "0-1-2",
                             "all",   "channel0",  "none",         "0 1", "0\n",     "0;1",
                             "0-256", "0-1048575", "0-127,200-400"}) {
        const auto failure = failure_of([&] { channels(list); });
        BOOST_TEST((failure.kind == ErrorKind::Usage), list);
        BOOST_TEST(failure.says("annotation 'k'"), failure.message);
    }
}

BOOST_AUTO_TEST_CASE(a_host_hands_out_none_unless_it_says_so)
{
    const auto failure = failure_of([] { ImexPolicy().require({0}); });
    BOOST_TEST((failure.kind == ErrorKind::Denied));
    BOOST_TEST(
        failure.message ==
        "no IMEX channel '0': the host's policy (--allow-imex) does not hand it out; it hands out none");
    ImexPolicy().require({});
}

BOOST_AUTO_TEST_CASE(the_policy_is_the_limit)
{
    const ImexPolicy policy = allowing("0-3, 8");
    policy.require({0, 3, 8});
    for (const unsigned channel : {4U, 7U, 9U, 1048575U}) {
        const auto failure = failure_of([&] { policy.require({0, channel}); });
        BOOST_TEST((failure.kind == ErrorKind::Denied), channel);
        BOOST_TEST(failure.message.ends_with("it hands out 0-3,8"), failure.message);
    }
    allowing("all").require({0, 1048575});
    allowing("0-1048575").require({0, 1048575});
    BOOST_TEST(allowing("all").text() == "all");
    for (const char *list : {"", "none", "all,0", "3-0", "1048576"})
        BOOST_TEST((failure_of([&] { allowing(list); }).kind == ErrorKind::Usage), list);
}

BOOST_AUTO_TEST_CASE(the_environment_as_the_toolkit_reads_it)
{
    BOOST_TEST((imex_channels_of_environment({}).empty()));
    for (const char *value : {"", " , ", "all", " all,", "void", "0,void", "none", "0,none"})
        BOOST_TEST(of_variable(value).empty(), value);
    BOOST_TEST((of_variable("1,,0, 1") == Channels{0, 1}));
    for (const char *value : {"all,0", "1048576", "x", "-1"}) {
        const auto failure = failure_of([&] { of_variable(value); });
        BOOST_TEST((failure.kind == ErrorKind::Usage), value);
        BOOST_TEST(failure.says("'NVIDIA_IMEX_CHANNELS'"), failure.message);
    }
    BOOST_TEST((failure_of([] { of_variable(std::string(65537, ',')); }).kind == ErrorKind::Usage));
}

BOOST_AUTO_TEST_SUITE_END()
