// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "amd-kfd/inventory.h"
#include "support/amd_host.h"

BOOST_AUTO_TEST_SUITE(amd_kfd_no_gpu)

using namespace ogh;
using namespace ogh::amd_kfd;
using ogh::test::AmdGpu;
using ogh::test::AmdHost;

namespace {

Inventory read(const AmdHost &host)
{
    Notes notes;
    return read_inventory(Sysroot(host.path()), notes);
}

void check_none(const AmdHost &host, ErrorKind kind, const std::string &text)
{
    const auto why = why_none(read(host));
    BOOST_REQUIRE(why.has_value());
    BOOST_TEST((why->kind() == kind));
    BOOST_TEST(std::string(why->what()).find(text) != std::string::npos, why->what());
}

} // namespace

BOOST_AUTO_TEST_CASE(hosts_without_gpus)
{
    const AmdHost nothing;
    BOOST_TEST(!read(nothing).kfd.has_value());
    check_none(nothing, ErrorKind::NotAvailable, "this host has no AMD GPU (no /sys/class/kfd)");
    std::filesystem::remove_all(nothing.path("sys/class/drm"));
    check_none(nothing, ErrorKind::NotAvailable, "this host has no AMD GPU");
    const AmdHost other;
    other.bmc(0);
    other.drm("0000:00:02.0", 1, 128, "i915");
    check_none(other, ErrorKind::NotAvailable, "this host has no AMD GPU");
    const AmdHost kfd_alone(std::vector<AmdGpu>{});
    check_none(kfd_alone, ErrorKind::NotAvailable,
               "this host has no AMD GPU (none in /sys/class/kfd/kfd/topology/nodes)");
    std::filesystem::remove_all(kfd_alone.path("sys/devices/virtual/kfd/kfd/topology"));
    check_none(kfd_alone, ErrorKind::NotAvailable, "this host has no AMD GPU");
    nothing.file("dev/dxg");
    check_none(nothing, ErrorKind::NotAvailable, "WSL");
}

BOOST_AUTO_TEST_CASE(graphics_without_compute)
{
    const AmdHost host;
    host.drm("0000:0d:00.0", 1, 129);
    check_none(host, ErrorKind::BrokenHost, "the amdgpu driver has no compute (KFD)");
    check_none(host, ErrorKind::BrokenHost, "'0000:0d:00.0'");
    host.kfd();
    check_none(host, ErrorKind::NotAvailable,
               "none that computes: KFD, the compute half of amdgpu, does not "
               "list '0000:0d:00.0'");
    std::filesystem::remove(host.path("sys/devices/virtual/kfd/kfd/dev"));
    check_none(host, ErrorKind::BrokenHost, "the amdgpu driver has no compute (KFD)");
}

BOOST_AUTO_TEST_CASE(gpus_without_the_device_of_kfd)
{
    const AmdHost host({AmdGpu()});
    host.devices("226 drm\n509 kfd\n");
    check_none(host, ErrorKind::BrokenHost, "the amdgpu driver has no compute (KFD)");
    host.devices("226 drm\n");
    check_none(host, ErrorKind::BrokenHost, "'0000:0d:00.0'");
    host.devices("510 kfd\n");
    BOOST_TEST(!why_none(read(host)).has_value());
    std::filesystem::remove(host.path("sys/devices/virtual/kfd/kfd/dev"));
    check_none(host, ErrorKind::BrokenHost, "the amdgpu driver has no compute (KFD)");
}

BOOST_AUTO_TEST_CASE(all_gpus_hidden)
{
    Inventory inventory;
    inventory.hidden = 2;
    inventory.kfd = DeviceNumber{510, 0};
    inventory.graphics_alone = {"0000:0d:00.0"};
    const auto why = why_none(inventory);
    BOOST_REQUIRE(why.has_value());
    BOOST_TEST((why->kind() == ErrorKind::NotAvailable));
    BOOST_TEST(why->what() ==
               std::string("the device cgroup of this process does not let it open any of the 2 AMD GPUs of "
                           "this host"));
}

BOOST_AUTO_TEST_SUITE_END()
