// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/host/imex.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_imex)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::failure_of;

namespace {

Inventory host(const std::string &devices, const std::string &params)
{
    Inventory inventory;
    inventory.devices = ProcDevices("Character devices:\n" + devices);
    inventory.params = params;
    return inventory;
}

constexpr const char *with_channels = "195 nvidia\n512 nvidia-caps-imex-channels\n";

} // namespace

BOOST_AUTO_TEST_CASE(how_many_there_are)
{
    BOOST_TEST(imex_channel_count(host(with_channels, "A: 1\nImexChannelCount: 2048\n")) == 2048U);
    BOOST_TEST(imex_channel_count(host("195 nvidia\n511 nvidia-caps\n", "ImexChannelCount: 2048\n")) == 0U);
    for (const char *params : {"", "ImexChannelCount: x\n", "ImexChannelCounts: 3\n",
                               "ImexChannelCount: 4294967295\n", "ImexChannelCount: \"3\"\n"})
        BOOST_TEST(imex_channel_count(host(with_channels, params)) == 1048576U, params);
}

BOOST_AUTO_TEST_CASE(a_channel_that_is_not_there_is_an_error)
{
    const auto kind = [](const Inventory &inventory, const std::vector<unsigned> &channels) {
        return failure_of([&] { require_imex_channels(inventory, channels); }).kind;
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
}

BOOST_AUTO_TEST_SUITE_END()
