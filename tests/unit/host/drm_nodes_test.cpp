// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <boost/test/unit_test.hpp>

#include "host/drm_nodes.h"
#include "support/expect.h"
#include "support/nvidia_host.h"

BOOST_AUTO_TEST_SUITE(drm_nodes)

using namespace ogh;
using ogh::test::failure_of;
using ogh::test::NvidiaHost;

BOOST_AUTO_TEST_CASE(card_and_render_node_by_pci_address)
{
    const NvidiaHost host;
    const UniqueFd root(::open(host.path().c_str(), O_PATH | O_CLOEXEC));
    const auto nodes_of = [&](const PciAddress &address) {
        return read_drm_nodes(root.get(), sysfs_directory(address).substr(1), host.path());
    };
    const PciAddress address{0, 0x5e, 0, 0};
    BOOST_TEST((nodes_of(address) == DrmNodes{}));
    host.drm("0000:5e:00.0", 2, 129);
    host.drm("0000:0d:00.0", 1, 128);
    const DrmNodes nodes = nodes_of(address);
    BOOST_TEST((nodes == DrmNodes{DrmNode{"card2", 226, 2}, DrmNode{"renderD129", 226, 129}}));
    BOOST_TEST((nodes_of({0, 1, 0, 0}) == DrmNodes{}));
}

BOOST_AUTO_TEST_CASE(odd_drm_directories)
{
    const NvidiaHost host;
    const std::string drm = "sys/bus/pci/devices/0000:5e:00.0/drm";
    host.directory("sys/bus/pci/devices");
    const UniqueFd devices(::open(host.path("sys/bus/pci/devices").c_str(), O_PATH | O_CLOEXEC));
    const auto nodes = [&] { return read_drm_nodes(devices.get(), "0000:5e:00.0", "devices"); };
    host.directory(drm + "/card0");
    host.file(drm + "/card1-DP-1/dev", "226:9\n");
    host.file(drm + "/controlD64/dev", "226:64\n");
    host.file(drm + "/renderD/dev", "226:9\n");
    BOOST_TEST((nodes() == DrmNodes{}));
    for (const char *text : {"226", "", "226:x\n", "226:-1\n", "4096:0\n", "226:1048576\n", "x:0\n"}) {
        host.file(drm + "/card0/dev", text);
        const auto failure = failure_of([&] { static_cast<void>(nodes()); });
        BOOST_TEST((failure.kind == ErrorKind::BrokenHost), text);
        BOOST_TEST(failure.message == "'devices/0000:5e:00.0/drm/card0/dev' has no device number");
    }
    host.file(drm + "/card0/dev", "226:0");
    BOOST_TEST((nodes() == DrmNodes{DrmNode{"card0", 226, 0}, {}}));
}

BOOST_AUTO_TEST_SUITE_END()
