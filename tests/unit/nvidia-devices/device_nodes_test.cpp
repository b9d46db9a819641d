// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <boost/test/unit_test.hpp>

#include "nvidia-devices/host/device_nodes.h"
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
    [[nodiscard]] std::string named(const std::set<Capability> &capabilities) const
    {
        std::string text;
        for (const NamedNode &node : read({{0}, {capabilities, false}}).named)
            text += (text.empty() ? "" : " ") + node.path + "=" + std::to_string(node.major) + ":" +
                    std::to_string(node.minor);
        return text;
    }

    [[nodiscard]] Failure refused(Capability capability) const
    {
        Failure failure = failure_of([&] { static_cast<void>(named({capability})); });
        BOOST_TEST((failure.kind == ErrorKind::BrokenHost), failure.message);
        return failure;
    }

    void node(const std::string &name, mode_t type, unsigned major_number, unsigned minor_number) const
    {
        folder("dev");
        const int result =
            ::mknod(path("dev/" + name).c_str(), type | 0600U, makedev(major_number, minor_number));
        BOOST_REQUIRE_MESSAGE(result == 0, "mknod needs root");
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

BOOST_AUTO_TEST_CASE(gds_has_the_nodes_of_the_host)
{
    const Host host("509 nvidia-fs\n");
    host.node("nvidia-fs10", S_IFCHR, 509, 10);
    host.node("nvidia-fs2", S_IFCHR, 509, 7);
    for (const char *other : {"nvidia-fs", "nvidia-fs1x", "nvidia-fsx", "nvidia-fs01", "nvidia-fs-1",
                              "xnvidia-fs0", "nvidia-fs99999999"})
        host.file("dev/" + std::string(other));
    BOOST_TEST(host.named({Gds}) == "/dev/nvidia-fs2=509:7 /dev/nvidia-fs10=509:10");
}

BOOST_AUTO_TEST_CASE(gds_without_module_or_nodes)
{
    BOOST_TEST(Host().refused(Gds).says("modprobe nvidia-fs"));
    const Host no_dev("509 nvidia-fs\n");
    BOOST_TEST(no_dev.refused(Gds).says("modprobe nvidia-fs"));
    no_dev.folder("dev");
    const auto failure = no_dev.refused(Gds);
    BOOST_TEST(failure.says("no node '/dev/nvidia-fs0'"), failure.message);
    BOOST_TEST(failure.says("modprobe nvidia-fs"), failure.message);
}

BOOST_AUTO_TEST_CASE(gds_nodes_that_are_none)
{
    const auto refused = [](const std::function<void(const Host &)> &make) {
        const Host host("509 nvidia-fs\n");
        host.node("nvidia-fs1", S_IFCHR, 509, 1);
        make(host);
        auto failure = host.refused(Gds);
        BOOST_TEST(failure.says("'" + host.path("dev/nvidia-fs0") + "' is "), failure.message);
        BOOST_TEST(failure.says(", and no character device of nvidia-fs (major number 509)"),
                   failure.message);
        return failure;
    };
    BOOST_TEST(refused([](const Host &host) { host.file("dev/nvidia-fs0"); }).says("a plain file"));
    BOOST_TEST(
        refused([](const Host &host) { host.link("dev/nvidia-fs0", "nvidia-fs1"); }).says("a symlink"));
    BOOST_TEST(
        refused([](const Host &host) { host.node("nvidia-fs0", S_IFBLK, 509, 0); }).says("something else"));
    BOOST_TEST(refused([](const Host &host) {
                   host.node("nvidia-fs0", S_IFCHR, 1, 3);
               }).says("the character device 1:3"));
}

BOOST_AUTO_TEST_CASE(mofed_has_what_sysfs_has)
{
    const Host host;
    BOOST_TEST(host.refused(Mofed).says("modprobe ib_uverbs"));
    host.file("sys/class/infiniband_verbs/abi_version", "6\n");
    host.file("sys/class/infiniband_verbs/uverbs01/dev", "231:1\n");
    BOOST_TEST(host.refused(Mofed).says("modprobe ib_uverbs"));
    host.file("sys/class/infiniband_verbs/uverbs1/dev", "231:193\n");
    BOOST_TEST(host.named({Mofed}) == "/dev/infiniband/uverbs1=231:193");
    host.file("sys/devices/x/infiniband_verbs/uverbs0/dev", "231:192\n");
    host.link("sys/class/infiniband_verbs/uverbs0", "../../devices/x/infiniband_verbs/uverbs0");
    host.file("sys/class/misc/rdma_cm/dev", "10:58");
    BOOST_TEST(host.named({Mofed}) == "/dev/infiniband/uverbs0=231:192 /dev/infiniband/uverbs1=231:193 "
                                      "/dev/infiniband/rdma_cm=10:58");
}

BOOST_AUTO_TEST_CASE(a_number_that_is_none_is_an_error)
{
    for (const char *text :
         {"", "231", "231:", ":192", "231:192:1", "4096:1", "231:1048576", "231:-1", "x\n"}) {
        const Host host;
        host.file("sys/class/infiniband_verbs/uverbs0/dev", text);
        const auto failure = host.refused(Mofed);
        BOOST_TEST(failure.says("infiniband_verbs/uverbs0/dev' has no device number"), failure.message);
    }
}

BOOST_AUTO_TEST_CASE(several_come_in_one_order)
{
    const Host host("508 gdrdrv\n");
    host.file("sys/class/infiniband_verbs/uverbs0/dev", "231:192\n");
    BOOST_TEST(host.named({Mofed, Gdrcopy}) == "/dev/gdrdrv=508:0 /dev/infiniband/uverbs0=231:192");
}

BOOST_AUTO_TEST_SUITE_END()
