// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/host/inventory.h"
#include "support/expect.h"
#include "support/nvidia_host.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_device_nodes)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::Failure;
using ogh::test::failure_of;
using ogh::test::NvidiaGpu;
using ogh::test::NvidiaHost;

namespace {

using enum Capability;

/** With one GPU, and these lines in /proc/devices beside the driver's own. */
struct Host : NvidiaHost {
    explicit Host(const std::string &lines = "") : NvidiaHost({{"0000:5e:00.0", 3}})
    {
        devices("195 nvidia\n195 nvidiactl\n510 nvidia-uvm\n" + lines);
    }

    [[nodiscard]] DeviceNodes read(const GpuSelection &selection) const
    {
        Notes notes;
        const Sysroot sysroot(path());
        return read_device_nodes(sysroot, read_inventory(sysroot, notes), selection);
    }

    /** "PATH=MAJOR:MINOR" of each, in order. */
    [[nodiscard]] std::string named(CapabilityBits capabilities) const
    {
        std::string text;
        for (const NodeEdit &node : read({{0}, {capabilities, false}}).named)
            text += (text.empty() ? "" : " ") + node.container_path + "=" + std::to_string(node.major) + ":" +
                    std::to_string(node.minor);
        return text;
    }

    [[nodiscard]] Failure refused(Capability capability) const
    {
        Failure failure = failure_of([&] { static_cast<void>(named({capability})); });
        BOOST_TEST((failure.kind == ErrorKind::BrokenHost), failure.message);
        return failure;
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(nothing_is_read_that_was_not_asked_for)
{
    const Host host;
    host.drm("0000:5e:00.0", 2, 129);
    for (const Capabilities &capabilities :
         {default_capabilities(), Capabilities{{Video, Ngx, Compat32}, false}}) {
        const DeviceNodes nodes = host.read({{0}, capabilities});
        BOOST_TEST(nodes.drm.empty());
        BOOST_TEST(nodes.named.empty());
    }
    const DeviceNodes nodes = host.read({{}, {{Graphics, Gds, Gdrcopy, Mofed}, true}});
    BOOST_TEST(nodes.drm.empty());
    BOOST_TEST(nodes.named.empty());
}

BOOST_AUTO_TEST_CASE(drm_nodes_of_the_gpus_that_were_asked_for)
{
    const Host host;
    host.gpu(NvidiaGpu::numbered("0000:0d:00.0", 0, "00"));
    host.gpu(NvidiaGpu::numbered("00000000:7f:00.0", 1, "01"));
    host.drm("0000:0d:00.0", 1, 128);
    host.drm("0000:5e:00.0", 2, 129);
    const DrmNodes expected{DrmNode{"card2", 226, 2}, DrmNode{"renderD129", 226, 129}};
    for (const Capabilities &capabilities :
         {Capabilities{{Graphics}, false}, Capabilities{{Display}, false}, Capabilities{{}, true}}) {
        const DeviceNodes nodes = host.read({{1, 2}, capabilities});
        BOOST_REQUIRE(nodes.drm.size() == 2U);
        BOOST_TEST((nodes.drm.at(1) == expected));
        BOOST_TEST((nodes.drm.at(2) == DrmNodes{}));
    }
}

BOOST_AUTO_TEST_CASE(gdrcopy_has_one_node)
{
    const Host host("508 gdrdrv\n");
    BOOST_TEST(host.named({Gdrcopy}) == "/dev/gdrdrv=508:0");
    BOOST_TEST(Host("508 gdrdrv2\n").refused(Gdrcopy).says("modprobe gdrdrv"));
}

BOOST_AUTO_TEST_CASE(what_sysfs_has_of_a_module)
{
    const std::vector<std::tuple<Capability, std::string, std::string, std::string, std::string>> cases{
        {Gds, "sys/class/nvidia-fs-class/", "nvidia-fs", "/dev/", "modprobe nvidia-fs"},
        {Mofed, "sys/class/infiniband_verbs/", "uverbs", "/dev/infiniband/", "modprobe ib_uverbs"}};
    for (const auto &[capability, directory, prefix, in_dev, module] : cases) {
        const Host host;
        BOOST_TEST(host.refused(capability).says(module));
        host.file(directory + "abi_version", "6\n");
        for (const char *other : {"", "1x", "x", "01", "-1", "99999999"})
            host.file(directory + prefix + other + "/dev", "231:1\n");
        host.directory(directory + prefix + "7"); // a device that goes away
        BOOST_TEST(host.refused(capability).says(module));
        host.file(directory + prefix + "10/dev", "231:193\n");
        host.file("sys/devices/x/y/" + prefix + "2/dev", "231:192\n");
        host.link(directory + prefix + "2", "../../devices/x/y/" + prefix + "2");
        BOOST_TEST(host.named({capability}) ==
                   in_dev + prefix + "2=231:192 " + in_dev + prefix + "10=231:193");
        for (const char *text :
             {"", "231", "231:", ":192", "231:192:1", "4096:1", "231:1048576", "231:-1", "x\n"}) {
            const auto file = directory + prefix + "0/dev";
            host.file(file, text);
            BOOST_TEST(host.refused(capability).says(file + "' has no device number"), text);
        }
    }
}

BOOST_AUTO_TEST_CASE(several_come_in_one_order)
{
    const Host host("508 gdrdrv\n");
    host.file("sys/class/infiniband_verbs/uverbs0/dev", "231:192\n");
    host.file("sys/class/nvidia-fs-class/nvidia-fs0/dev", "509:0\n");
    host.file("sys/class/misc/rdma_cm/dev", "10:58");
    BOOST_TEST(host.named({Mofed, Gdrcopy, Gds}) ==
               "/dev/nvidia-fs0=509:0 /dev/infiniband/uverbs0=231:192 /dev/gdrdrv=508:0 "
               "/dev/infiniband/rdma_cm=10:58");
}

BOOST_AUTO_TEST_SUITE_END()
