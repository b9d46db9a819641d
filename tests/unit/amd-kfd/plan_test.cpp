// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "amd-kfd/candidates.h"
#include "amd-kfd/plan.h"
#include "support/amd_host.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(amd_kfd_plan)

using namespace ogh;
using namespace ogh::amd_kfd;
using ogh::test::AmdGpu;
using ogh::test::AmdHost;
using ogh::test::failure_of;

namespace {

Edits plan_for(const AmdHost &host, const std::vector<size_t> &gpus)
{
    Notes notes;
    AmdInputs inputs;
    inputs.inventory = read_inventory(Sysroot(host.path()), notes);
    inputs.chosen = gpus;
    return inputs.plan(notes);
}

/** "PATH=MAJOR:MINOR" of each node, in order. */
std::string nodes_of(const Edits &edits)
{
    std::string text;
    for (const NodeEdit &node : edits.nodes)
        text += (text.empty() ? "" : " ") + node.container_path + "=" + std::to_string(node.major) + ":" +
                std::to_string(node.minor);
    return text;
}

std::string links_of(const Edits &edits)
{
    std::string text;
    for (const LinkEdit &link : edits.links)
        text += (text.empty() ? "" : " ") + link.container_path + ">" + link.target;
    return text;
}

Inventory with_versions(const std::vector<unsigned> &versions)
{
    Inventory inventory;
    inventory.kfd = DeviceNumber{510, 0};
    for (const unsigned version : versions)
        inventory.gpus.emplace_back().kfd.gfx.number = version;
    return inventory;
}

/** What is said of these GPUs where they are planned for. */
Notes notes_of(const std::vector<size_t> &gpus, const Inventory &inventory,
               const std::vector<std::string> &environment, bool is_rootless = false)
{
    Notes notes;
    AmdInputs inputs;
    inputs.inventory = inventory;
    inputs.chosen = gpus;
    inputs.environment = environment;
    inputs.is_rootless = is_rootless;
    static_cast<void>(inputs.plan(notes));
    return notes;
}

} // namespace

BOOST_AUTO_TEST_CASE(nodes_and_links_of_one_gpu)
{
    const AmdHost host({AmdGpu(), AmdGpu::raphael(2, 2, 130)});
    const Edits edits = plan_for(host, {0});
    BOOST_TEST(nodes_of(edits) == "/dev/kfd=510:0 /dev/dri/card1=226:1 /dev/dri/renderD129=226:129");
    NodeEdit kfd{"/dev/kfd", host.path("dev/kfd"), 510, 0, 0666};
    kfd.is_of_driver = true;
    BOOST_TEST((edits.nodes[0] == kfd));
    BOOST_TEST((edits.nodes[1].host_path == host.path("dev/dri/card1")));
    BOOST_TEST(links_of(edits) == "/dev/dri/by-path/pci-0000:0d:00.0-card>../card1 "
                                  "/dev/dri/by-path/pci-0000:0d:00.0-render>../renderD129");
    BOOST_TEST(edits.mounts.empty());
    BOOST_TEST(edits.files.empty());
    BOOST_TEST(!edits.proc.has_value());
}

BOOST_AUTO_TEST_CASE(the_numbers_are_the_hosts)
{
    const AmdHost host({AmdGpu()});
    host.file("sys/devices/virtual/kfd/kfd/dev", "234:0\n");
    host.devices("234 kfd\n");
    host.file("sys/devices/pci0000:00/0000:0d:00.0/drm/card1/dev", "227:5\n");
    host.file("sys/devices/pci0000:00/0000:0d:00.0/drm/renderD129/dev", "227:6\n");
    BOOST_TEST(nodes_of(plan_for(host, {0})) ==
               "/dev/kfd=234:0 /dev/dri/card1=227:5 /dev/dri/renderD129=227:6");
}

BOOST_AUTO_TEST_CASE(a_gpu_may_have_no_card)
{
    const AmdHost host({AmdGpu()});
    std::filesystem::remove_all(host.path("sys/devices/pci0000:00/0000:0d:00.0/drm/card1"));
    const Edits edits = plan_for(host, {0});
    BOOST_TEST(nodes_of(edits) == "/dev/kfd=510:0 /dev/dri/renderD129=226:129");
    BOOST_TEST(links_of(edits) == "/dev/dri/by-path/pci-0000:0d:00.0-render>../renderD129");
}

BOOST_AUTO_TEST_CASE(partitions_have_links_by_platform_device)
{
    std::vector<AmdGpu> gpus = AmdGpu::cpx();
    gpus[5].platform_device = "amdgpu_xcp.4";
    const AmdHost host(gpus);
    const Edits edits = plan_for(host, {0, 5, 63});
    BOOST_TEST(nodes_of(edits) == "/dev/kfd=510:0 /dev/dri/card1=226:1 /dev/dri/renderD128=226:128 "
                                  "/dev/dri/card6=226:6 /dev/dri/renderD133=226:133 "
                                  "/dev/dri/card80=226:80 /dev/dri/renderD207=226:207");
    BOOST_TEST(links_of(edits) == "/dev/dri/by-path/pci-0000:1b:00.0-card>../card1 "
                                  "/dev/dri/by-path/pci-0000:1b:00.0-render>../renderD128 "
                                  "/dev/dri/by-path/platform-amdgpu_xcp.4-card>../card6 "
                                  "/dev/dri/by-path/platform-amdgpu_xcp.4-render>../renderD133 "
                                  "/dev/dri/by-path/platform-amdgpu_xcp_55-card>../card80 "
                                  "/dev/dri/by-path/platform-amdgpu_xcp_55-render>../renderD207");
    std::vector<size_t> all;
    for (size_t i = 0; i < gpus.size(); ++i)
        all.push_back(i);
    BOOST_TEST(plan_for(host, all).nodes.size() == 129U);
}

BOOST_AUTO_TEST_CASE(nothing_is_nothing)
{
    const AmdHost host({AmdGpu()});
    BOOST_TEST(plan_for(host, {}).empty());
}

BOOST_AUTO_TEST_CASE(a_rootless_container_gets_all_or_none)
{
    const Inventory inventory = with_versions({90402, 90402, 100306});
    for (const std::vector<size_t> &some : {std::vector<size_t>{0}, {1, 2}}) {
        const auto failure = failure_of([&] { notes_of(some, inventory, {}, true); });
        BOOST_TEST((failure.kind == ErrorKind::BrokenHost));
        BOOST_TEST(failure.says(std::to_string(some.size()) + " of 3 AMD GPUs asked for"), failure.message);
        BOOST_TEST(failure.says("ask for all of them ('0-2')"), failure.message);
        notes_of(some, inventory, {});
    }
    notes_of({0, 1, 2}, inventory, {}, true);
    notes_of({}, inventory, {}, true);
    Inventory restricted = with_versions({90402});
    restricted.hidden = 7;
    notes_of({0}, restricted, {}, true);
}

BOOST_AUTO_TEST_CASE(what_to_try_for_unusual_versions)
{
    const Inventory inventory = with_versions({110000, 110003, 100301, 110003, 110501});
    const Notes notes = notes_of({0, 1, 2, 3, 4}, inventory, {"HSA_OVERRIDE=1", "PATH=/bin"});
    BOOST_REQUIRE(notes.size() == 2U);
    BOOST_TEST((notes[0].level == LogLevel::Info));
    BOOST_TEST(notes[0].text ==
               "ROCm of the image may not know gfx1103; if so, HSA_OVERRIDE_GFX_VERSION=11.0.0 in "
               "the container's environment is worth a try");
    BOOST_TEST(notes[1].text.find("gfx1031; if so, HSA_OVERRIDE_GFX_VERSION=10.3.0 ") != std::string::npos);
    BOOST_TEST(notes_of({0, 4}, inventory, {}).empty());
    BOOST_TEST(notes_of({1}, inventory, {"HSA_OVERRIDE_GFX_VERSIONS=1"}).size() == 1U);
    for (const char *entry : {"HSA_OVERRIDE_GFX_VERSION=11.0.2",
                              "HSA_OVERRIDE_GFX_VERSION=", "HSA_OVERRIDE_GFX_VERSION_1=11.0.0"})
        BOOST_TEST(notes_of({1}, inventory, {"A=b", entry}).empty(), entry);
}

BOOST_AUTO_TEST_SUITE_END()
