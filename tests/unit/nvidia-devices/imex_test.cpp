// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/host/imex.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_imex)

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

Inventory host(const std::string &devices, const std::string &params)
{
    Inventory inventory;
    inventory.devices = ProcDevices("Character devices:\n" + devices);
    inventory.proc.params = params;
    return inventory;
}

constexpr const char *with_channels = "195 nvidia\n512 nvidia-caps-imex-channels\n";

} // namespace

BOOST_AUTO_TEST_CASE(numbers_and_ranges)
{
    BOOST_TEST((channels("0") == Channels{0}));
    BOOST_TEST((channels(" 7 ,0-2,\t1, 7") == Channels{0, 1, 2, 7}));
    BOOST_TEST((channels("1048575") == Channels{1048575}));
    const Channels many = channels("0-255,0-255,255");
    BOOST_TEST((many.size() == 256U && many.front() == 0U && many.back() == 255U));
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

BOOST_AUTO_TEST_CASE(the_policy_is_the_limit)
{
    const auto expect = [](const ImexPolicy &policy, const Channels &given, const Channels &refused) {
        policy.require({});
        policy.require(given);
        for (const unsigned channel : refused) {
            auto asked = given;
            asked.push_back(channel);
            const auto failure = failure_of([&] { policy.require(asked); });
            BOOST_TEST((failure.kind == ErrorKind::Denied), channel);
            BOOST_TEST(failure.message == "no IMEX channel '" + std::to_string(channel) +
                                              "': the host's policy (--allow-imex) does not allow it; it "
                                              "allows " +
                                              policy.text());
        }
    };
    expect({}, {}, {0});
    BOOST_TEST(ImexPolicy().text() == "none");
    expect(allowing("0-3, 8"), {0, 3, 8}, {4, 7, 9, 1048575});
    expect(allowing("all"), {0, 1048575}, {});
    expect(allowing("0-1048575"), {0, 1048575}, {});
    BOOST_TEST(allowing(" 0-3,8 ").text() == "0-3,8");
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
}

BOOST_AUTO_TEST_CASE(a_plugins_come_from_where_the_gpus_come_from)
{
    const std::string directory = "/var/run/nvidia-container-devices/";
    Config config;
    config.binds = {{directory + "GPU-1", "/dev/null"}, {directory + "imex/3", "/dev/null"}};
    config.annotations["cdi.k8s.io/a"] = "nvidia.com/gpu=0,nvidia.com/imex-channel=5";
    config.annotations["nvidia.cdi.k8s.io/b"] = "k8s.device-plugin.nvidia.com/imex-channel=4";
    config.environment = {"NVIDIA_IMEX_CHANNELS=7"};
    BOOST_TEST((imex_channels_of_plugin(config, PluginSource::Mounts) == Channels{3}));
    BOOST_TEST((imex_channels_of_plugin(config, PluginSource::CdiAnnotations) == Channels{4, 5}));
    BOOST_TEST((imex_channels_of_plugin(config, PluginSource::Environment) == Channels{7}));
    config.binds.pop_back();
    BOOST_TEST(imex_channels_of_plugin(config, PluginSource::Mounts).empty());
    config.binds.push_back({directory + "imex/all", "/dev/null"});
    BOOST_TEST((failure_of([&] { imex_channels_of_plugin(config, PluginSource::Mounts); }).kind ==
                ErrorKind::Usage));
}

BOOST_AUTO_TEST_CASE(what_the_driver_has)
{
    BOOST_TEST(imex_channel_count(host(with_channels, "A: 1\nImexChannelCount: 2048\n")) == 2048U);
    BOOST_TEST(imex_channel_count(host("195 nvidia\n511 nvidia-caps\n", "ImexChannelCount: 2048\n")) == 0U);
    for (const char *params : {"", "ImexChannelCount: x\n", "ImexChannelCounts: 3\n",
                               "ImexChannelCount: 4294967295\n", "ImexChannelCount: \"3\"\n"})
        BOOST_TEST(imex_channel_count(host(with_channels, params)) == 1048576U, params);
    const auto kind = [](const Inventory &inventory, const Channels &wanted) {
        return failure_of([&] { require_imex_channels(inventory, wanted); }).kind;
    };
    const Inventory some = host(with_channels, "ImexChannelCount: 8\n");
    BOOST_TEST((kind(some, {0, 7}) == ErrorKind::None));
    BOOST_TEST((kind(some, {0, 8}) == ErrorKind::NotAvailable));
    BOOST_TEST(failure_of([&] { require_imex_channels(some, {8}); }).message ==
               "no IMEX channel '8': this host's driver has 0 to 7 (NVreg_ImexChannelCount)");
    const Inventory none = host("195 nvidia\n", "ImexChannelCount: 8\n");
    BOOST_TEST((kind(none, {}) == ErrorKind::None));
    BOOST_TEST((kind(none, {0}) == ErrorKind::NotAvailable));
    BOOST_TEST((kind(host(with_channels, "ImexChannelCount: 0\n"), {0}) == ErrorKind::NotAvailable));
    BOOST_TEST(!imex_fact(none, {}).has_value());
    BOOST_TEST(imex_fact(some, allowing("0-3")).value() == "0-7, allowed: 0-3");
}

BOOST_AUTO_TEST_SUITE_END()
