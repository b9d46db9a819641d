// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "amd-kfd/inventory.h"
#include "support/amd_host.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(amd_kfd_inventory)

using namespace ogh;
using namespace ogh::amd_kfd;
using ogh::test::AmdGpu;
using ogh::test::AmdHost;
using ogh::test::failure_of;

namespace {

Inventory read(const AmdHost &host)
{
    Notes notes;
    Inventory inventory = read_inventory(Sysroot(host.path()), notes);
    read_memory(Sysroot(host.path()), inventory);
    return inventory;
}

/** "PARENT:PARTITION=ADDRESS/MINOR" of each, in order. */
std::string text_of(const Inventory &inventory)
{
    std::string text;
    for (const Gpu &gpu : inventory.gpus)
        text += (text.empty() ? "" : " ") + std::to_string(gpu.parent) + ":" + std::to_string(gpu.partition) +
                "=" + to_text(gpu.address) + "/" + std::to_string(gpu.kfd.render_minor.value_or(0));
    return text;
}

/** The only GPU has this problem. */
void check_problem(const AmdHost &host, const std::string &problem)
{
    const Inventory inventory = read(host);
    BOOST_REQUIRE(inventory.gpus.size() == 1U);
    BOOST_TEST(inventory.gpus[0].problem == problem);
}

} // namespace

BOOST_AUTO_TEST_CASE(discrete_and_integrated_and_a_bmc)
{
    const AmdHost host({AmdGpu(), AmdGpu::raphael(2, 2, 130)});
    host.bmc(0);
    const Inventory inventory = read(host);
    BOOST_TEST(text_of(inventory) == "0:0=0000:0d:00.0/129 1:0=0000:7a:00.0/130");
    BOOST_TEST((inventory.kfd == DeviceNumber{510, 0}));
    BOOST_TEST(inventory.host_root == host.path());
    BOOST_TEST(!why_none(inventory).has_value());
    BOOST_TEST(!is_integrated(inventory.gpus[0]));
    BOOST_TEST(is_integrated(inventory.gpus[1]));
    BOOST_TEST((inventory.gpus[0].drm.card == DrmNode{"card1", 226, 1}));
    BOOST_TEST((inventory.gpus[1].drm.card == DrmNode{"card2", 226, 2}));
    BOOST_TEST(inventory.gpus[0].problem.empty());
}

BOOST_AUTO_TEST_CASE(an_apu_alone)
{
    AmdGpu phoenix = AmdGpu::raphael(1, 0, 128);
    phoenix.gfx = 110003;
    const Inventory inventory = read(AmdHost({phoenix}));
    BOOST_TEST(text_of(inventory) == "0:0=0000:7a:00.0/128");
    BOOST_TEST(is_integrated(inventory.gpus[0]));
}

BOOST_AUTO_TEST_CASE(eight_whole_gpus_with_room_for_partitions)
{
    const AmdHost host(AmdGpu::spx());
    // Blanks: what amdgpu makes for partitions that there are not.
    for (unsigned blank = 0; blank < 7; ++blank)
        host.drm("amdgpu_xcp_" + std::to_string(blank), 2 + blank, 129 + blank);
    BOOST_TEST(text_of(read(host)) == "0:0=0000:1b:00.0/128 1:0=0000:3d:00.0/136 2:0=0000:4e:00.0/144 "
                                      "3:0=0000:5f:00.0/152 4:0=0001:1b:00.0/176 5:0=0001:3d:00.0/184 "
                                      "6:0=0001:4e:00.0/192 7:0=0001:5f:00.0/200");
}

BOOST_AUTO_TEST_CASE(partitions_in_two_pci_domains)
{
    const Inventory inventory = read(AmdHost(AmdGpu::cpx()));
    BOOST_REQUIRE(inventory.gpus.size() == 64U);
    const auto expect = [&](size_t i, const char *address, unsigned parent, unsigned partition,
                            unsigned minor, const char *device) {
        const Gpu &gpu = inventory.gpus[i];
        BOOST_TEST(to_text(gpu.address) == address);
        BOOST_TEST(gpu.parent == parent);
        BOOST_TEST(gpu.partition == partition);
        BOOST_TEST(gpu.kfd.render_minor.value() == minor);
        BOOST_TEST(gpu.device == device);
        BOOST_TEST(gpu.drm.card.value().minor == minor - 127);
        BOOST_TEST(gpu.memory.value() == std::uint64_t{24560} << 20U);
        BOOST_TEST(gpu.problem.empty());
    };
    expect(0, "0000:1b:00.0", 0, 0, 128, "0000:1b:00.0");
    expect(3, "0000:1b:00.0", 0, 3, 131, "amdgpu_xcp_2");
    expect(8, "0000:3d:00.0", 1, 0, 136, "0000:3d:00.0");
    expect(31, "0000:5f:00.0", 3, 7, 159, "amdgpu_xcp_27");
    expect(32, "0001:1b:00.0", 4, 0, 176, "0001:1b:00.0");
    expect(63, "0001:5f:00.0", 7, 7, 207, "amdgpu_xcp_55");
}

BOOST_AUTO_TEST_CASE(blanks_and_both_ways_to_call_partitions)
{
    for (const char *separator : {"_", "."}) {
        const auto xcp = [&](unsigned number) {
            return "amdgpu_xcp" + std::string(separator) + std::to_string(number);
        };
        std::vector<AmdGpu> gpus;
        for (unsigned i = 0; i < 3; ++i) {
            gpus.push_back(AmdGpu::mi300x(2 + i, "0000:1b:00.0", i, 128 + i));
            gpus.back().platform_device = i == 0 ? "" : xcp(i - 1);
        }
        const AmdHost host(gpus);
        for (unsigned blank = 2; blank < 7; ++blank)
            host.drm(xcp(blank), 2 + blank, 129 + blank);
        const Inventory inventory = read(host);
        BOOST_TEST(text_of(inventory) == "0:0=0000:1b:00.0/128 0:1=0000:1b:00.0/129 0:2=0000:1b:00.0/130");
        BOOST_TEST(inventory.gpus[2].device == xcp(1));
    }
}

BOOST_AUTO_TEST_CASE(partitions_of_one_location_are_counted)
{
    std::vector<AmdGpu> gpus;
    for (const unsigned minor : {129U, 128U, 130U}) {
        gpus.push_back(AmdGpu::mi300x(minor - 100, "0000:1b:00.0", 0, minor));
        gpus.back().platform_device = minor == 128 ? "" : "amdgpu_xcp_" + std::to_string(minor - 129);
    }
    gpus.push_back(AmdGpu::mi300x(40, "0000:3d:00.0", 0, 140));
    BOOST_TEST(text_of(read(AmdHost(gpus))) == "0:0=0000:1b:00.0/128 0:1=0000:1b:00.0/129 "
                                               "0:2=0000:1b:00.0/130 1:0=0000:3d:00.0/140");
}

BOOST_AUTO_TEST_CASE(the_first_of_two_partitions_is_hidden)
{
    AmdGpu second = AmdGpu::mi300x(3, "0000:1b:00.0", 1, 129);
    second.platform_device = "amdgpu_xcp_0";
    BOOST_TEST(text_of(read(AmdHost({second}))) == "0:1=0000:1b:00.0/129");
}

BOOST_AUTO_TEST_CASE(pci_order_whatever_the_minors)
{
    BOOST_TEST(text_of(read(AmdHost(AmdGpu::mi210()))) ==
               "0:0=0000:03:00.0/130 1:0=0000:26:00.0/131 2:0=0000:43:00.0/129 3:0=0000:63:00.0/128 "
               "4:0=0000:83:00.0/134 5:0=0000:a3:00.0/135 6:0=0000:c3:00.0/133 7:0=0000:e3:00.0/132");
}

BOOST_AUTO_TEST_CASE(an_old_kernel)
{
    // Without a domain, and with the same location twice.
    AmdGpu one{1, "0000:21:00.0", 0, 128};
    AmdGpu other{2, "0001:21:00.0", 1, 129};
    one.gfx = other.gfx = 0;
    one.memory = other.memory = 17163091968;
    const AmdHost host({one, other});
    for (const unsigned node : {1U, 2U})
        std::filesystem::remove_all(host.path(AmdHost::node_directory(node) + "/mem_banks"));
    const Inventory inventory = read(host);
    BOOST_TEST(text_of(inventory) == "0:0=0000:21:00.0/128 1:0=0001:21:00.0/129");
    BOOST_TEST(!is_integrated(inventory.gpus[0]));
    BOOST_TEST(inventory.gpus[1].memory.value() == 17163091968U);
    one.cpu_cores = 8;
    BOOST_TEST(is_integrated(read(AmdHost({one})).gpus[0]));
}

BOOST_AUTO_TEST_CASE(a_gfx_version_says_more_than_cpu_cores)
{
    AmdGpu mi300a = AmdGpu::mi300x(1, "0000:01:00.0", 0, 128);
    mi300a.cpu_cores = 24;
    BOOST_TEST(!is_integrated(read(AmdHost({mi300a})).gpus[0]));
}

BOOST_AUTO_TEST_CASE(the_address_of_sysfs_has_the_function)
{
    AmdGpu virtual_function;
    virtual_function.address = "0000:0d:02.3";
    BOOST_TEST(text_of(read(AmdHost({virtual_function}))) == "0:0=0000:0d:02.3/129");
}

BOOST_AUTO_TEST_CASE(what_drm_says_of_a_gpu)
{
    AmdGpu gpu;
    gpu.drm_unique_id = 0x42;
    const AmdHost host({gpu, AmdGpu::raphael(2, 2, 130)});
    const Inventory whole = read(host);
    BOOST_TEST(whole.gpus[0].drm_unique_id == 0x42U);
    BOOST_TEST(whole.gpus[0].memory.value() == std::uint64_t{20464} << 20U);
    BOOST_TEST(whole.gpus[1].drm_unique_id == 0U);
    // KFD would count what it may use of the CPU's.
    host.file(AmdHost::node_directory(2) + "/mem_banks/0/properties",
              "heap_type 1\nsize_in_bytes 16106127360\n");
    BOOST_TEST(read(host).gpus[1].memory.value() == 512U << 20U);
}

BOOST_AUTO_TEST_CASE(gpus_that_cannot_be_handed_out)
{
    AmdGpu gpu;
    gpu.render_minor = 0;
    check_problem(AmdHost({gpu}), "KFD's node 1 has no render node");
    const AmdHost host({AmdGpu()});
    std::filesystem::remove(host.path("sys/class/drm/renderD129"));
    check_problem(host, "the host has no renderD129, which KFD's node 1 refers to");
    std::filesystem::remove_all(host.path("sys/class/drm"));
    check_problem(host, "the host has no renderD129, which KFD's node 1 refers to");
    const AmdHost one({AmdGpu()});
    one.node(2, AmdGpu{2, "0000:1b:00.0"}.properties());
    const Inventory twice = read(one);
    BOOST_TEST(twice.gpus.size() == 2U);
    for (const Gpu &each : twice.gpus)
        BOOST_TEST(each.problem == "KFD gives another GPU the same render node, renderD129");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_an_error_of_the_host)
{
    const AmdHost host({AmdGpu()});
    const std::string properties = AmdHost::node_directory(1) + "/properties";
    std::filesystem::remove(host.path(properties));
    BOOST_TEST(read(host).gpus.empty());
    host.directory(properties);
    const auto failure = failure_of([&] { static_cast<void>(read(host)); });
    BOOST_TEST((failure.kind == ErrorKind::BrokenHost));
    BOOST_TEST(failure.says("/topology/nodes/1/properties'"), failure.message);
    const AmdHost no_directory({AmdGpu()});
    std::filesystem::remove_all(no_directory.path("sys/devices/virtual/kfd/kfd/topology"));
    no_directory.file("sys/devices/virtual/kfd/kfd/topology/nodes");
    BOOST_TEST((failure_of([&] { static_cast<void>(read(no_directory)); }).kind == ErrorKind::BrokenHost));
}

BOOST_AUTO_TEST_CASE(more_nodes_than_there_can_be_are_refused)
{
    const AmdHost host(std::vector<AmdGpu>{});
    for (unsigned i = 1; i <= 1024; ++i)
        host.directory(AmdHost::node_directory(i));
    BOOST_TEST(failure_of([&] { static_cast<void>(read(host)); }).says("has more than 1024 entries"));
}

BOOST_AUTO_TEST_SUITE_END()
