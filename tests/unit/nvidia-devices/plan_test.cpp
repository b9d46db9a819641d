// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/host/candidates.h"
#include "nvidia-devices/plan/plan.h"
#include "request/selection.h"
#include "support/expect.h"
#include "support/nvidia_host.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_plan)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::failure_of;
using ogh::test::NvidiaGpu;
using ogh::test::NvidiaHost;

namespace {

using enum Capability;

constexpr const char *usual_devices = "195 nvidia\n195 nvidiactl\n195 nvidia-modeset\n510 nvidia-uvm\n";
constexpr const char *other_nodes = " /dev/nvidiactl=195:255";
constexpr const char *uvm_nodes = " /dev/nvidia-uvm=510:0 /dev/nvidia-uvm-tools=510:1";

Capabilities named(CapabilityBits list)
{
    return {list, false};
}

Edits plan_of(GpuSelection selection, const Inventory &inventory, const DeviceNodes &nodes, Notes &notes)
{
    NvidiaInputs inputs;
    inputs.selection = std::move(selection);
    inputs.inventory = inventory;
    inputs.nodes = nodes;
    return inputs.plan(notes);
}

/** Made by hand: a plan needs no host. */
struct Case {
    Inventory inventory;
    DeviceNodes device_nodes;
    Notes notes;

    explicit Case(const std::vector<unsigned> &minors = {3}, const std::string &devices = usual_devices)
    {
        inventory.has_driver = true;
        inventory.proc.version = "NVRM\n";
        inventory.proc.params = "A: 1\nModifyDeviceFiles: 1\n";
        inventory.host_root = "/root of";
        inventory.gpus_directory = "/root of/proc/driver/nvidia/gpus";
        inventory.devices = ProcDevices("Character devices:\n" + devices);
        for (const unsigned number : minors) {
            Gpu gpu;
            gpu.address = {0, static_cast<std::uint8_t>(0x10 + inventory.gpus.size()), 0, 0};
            gpu.directory = to_text(gpu.address);
            gpu.information.minor = number;
            inventory.gpus.push_back(gpu);
        }
    }

    Edits plan(const std::vector<size_t> &gpus, const Capabilities &capabilities = default_capabilities())
    {
        return plan_of({gpus, capabilities}, inventory, device_nodes, notes);
    }

    /** "PATH=MAJOR:MINOR" of each node, in order. */
    std::string nodes(const std::vector<size_t> &gpus,
                      const Capabilities &capabilities = default_capabilities())
    {
        std::string text;
        for (const NodeEdit &node : plan(gpus, capabilities).nodes)
            text += (text.empty() ? "" : " ") + node.container_path + "=" + std::to_string(node.major) + ":" +
                    std::to_string(node.minor);
        return text;
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(nodes_of_one_gpu)
{
    Case host;
    BOOST_TEST(host.nodes({0}) == "/dev/nvidia3=195:3" + std::string(other_nodes) + uvm_nodes);
    BOOST_TEST(host.notes.empty());
    const Edits edits = host.plan({0});
    BOOST_TEST((edits.nodes.front() == NodeEdit{"/dev/nvidia3", "/root of/dev/nvidia3", 195, 3, 0666}));
    for (const DeviceRule &rule : leased_rules_of(edits.nodes))
        BOOST_TEST((rule.major == 195 && rule.minor <= 31), to_text(rule));
    BOOST_TEST(!leased_rules_of(edits.nodes).empty());
    BOOST_TEST(edits.links.empty());
    BOOST_TEST(edits.mounts.empty());
    BOOST_TEST(edits.files.empty());
}

BOOST_AUTO_TEST_CASE(nodes_have_the_drivers_minor_and_not_the_index)
{
    Case host({2, 3, 1, 0, 6, 7, 5, 4});
    BOOST_TEST(host.nodes({0, 3, 7}, named({Utility})) ==
               "/dev/nvidia2=195:2 /dev/nvidia0=195:0 /dev/nvidia4=195:4" + std::string(other_nodes));
    BOOST_TEST(host.nodes({1}, named({Utility})) == "/dev/nvidia3=195:3" + std::string(other_nodes));
}

BOOST_AUTO_TEST_CASE(the_major_is_that_of_proc_devices)
{
    BOOST_TEST(Case({0}, "200 nvidia-frontend\n510 nvidia-uvm\n").nodes({0}, named({Utility})) ==
               "/dev/nvidia0=200:0 /dev/nvidiactl=200:255");
    Case none({0}, "510 nvidia-uvm\n");
    BOOST_TEST((failure_of([&] { none.plan({0}); }).kind == ErrorKind::BrokenHost));
}

BOOST_AUTO_TEST_CASE(uvm_goes_with_compute_and_video)
{
    Case host;
    for (const Capability each : {Compute, Video})
        BOOST_TEST(host.nodes({0}, named({each})).ends_with(uvm_nodes));
    for (const Capability each : {Utility, Graphics, Ngx, Compat32})
        BOOST_TEST(host.nodes({0}, named({each})) == "/dev/nvidia3=195:3" + std::string(other_nodes));
}

BOOST_AUTO_TEST_CASE(imex_channels_have_the_number_of_proc_devices)
{
    Case host({3}, std::string(usual_devices) + "512 nvidia-caps-imex-channels\n");
    const auto nodes_with = [&](const std::vector<size_t> &gpus) {
        std::string text;
        for (const NodeEdit &node :
             plan_of({gpus, named({Utility}), {0, 7}}, host.inventory, {}, host.notes).nodes)
            text += node.container_path + "=" + std::to_string(node.major) + ":" +
                    std::to_string(node.minor) + " ";
        return text;
    };
    BOOST_TEST(nodes_with({0}).ends_with("/dev/nvidia-caps-imex-channels/channel0=512:0 "
                                         "/dev/nvidia-caps-imex-channels/channel7=512:7 "));
    BOOST_TEST(nodes_with({}) == "");
    BOOST_TEST(host.nodes({0}).find("imex") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_missing_uvm_is_an_error)
{
    Case host({0}, "195 nvidia\n510 nvidia-uvm-tools\n");
    for (const Capabilities &capabilities :
         {default_capabilities(), named({Video}), Capabilities{{}, true}}) {
        const auto failure = failure_of([&] { host.plan({0}, capabilities); });
        BOOST_TEST((failure.kind == ErrorKind::BrokenHost));
        BOOST_TEST(failure.says("modprobe nvidia-uvm"), failure.message);
    }
    BOOST_TEST(host.nodes({0}, named({Utility})).starts_with("/dev/nvidia0="));
}

BOOST_AUTO_TEST_CASE(modeset_goes_with_display)
{
    Case host;
    BOOST_TEST(host.nodes({0}, named({Display})) ==
               "/dev/nvidia3=195:3 /dev/nvidiactl=195:255 /dev/nvidia-modeset=195:254");
    BOOST_TEST(
        host.nodes({0}, {{}, true}).ends_with(std::string(uvm_nodes) + " /dev/nvidia-modeset=195:254"));
    BOOST_TEST(host.nodes({0}, named({Graphics})).find("modeset") == std::string::npos);
    BOOST_TEST(host.notes.empty());
}

BOOST_AUTO_TEST_CASE(a_missing_modeset_is_an_error_for_who_names_display)
{
    Case host({3}, "195 nvidia\n510 nvidia-uvm\n");
    for (const Capabilities &capabilities : {named({Display}), Capabilities{{Display}, true}}) {
        const auto failure = failure_of([&] { host.plan({0}, capabilities); });
        BOOST_TEST((failure.kind == ErrorKind::BrokenHost));
        BOOST_TEST(failure.says("modprobe nvidia-modeset"), failure.message);
    }
    BOOST_TEST(host.nodes({0}, {{}, true}) == "/dev/nvidia3=195:3" + std::string(other_nodes) + uvm_nodes);
    BOOST_REQUIRE(host.notes.size() == 1U);
    BOOST_TEST((host.notes[0].level == LogLevel::Info));
    BOOST_TEST(host.notes[0].text.find("nvidia-modeset is not loaded") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(dri_nodes_with_links_by_address)
{
    Case host({3, 4});
    host.device_nodes.drm = {{0, {DrmNode{"card2", 226, 2}, DrmNode{"renderD129", 226, 129}}},
                             {1, {DrmNode{"card1", 226, 1}, std::nullopt}}};
    const Edits edits = host.plan({0, 1}, named({Graphics}));
    BOOST_REQUIRE(edits.nodes.size() == 6U);
    BOOST_TEST((edits.nodes[3] == NodeEdit{"/dev/dri/card2", "/root of/dev/dri/card2", 226, 2}));
    BOOST_TEST((edits.nodes[4] == NodeEdit{"/dev/dri/renderD129", "/root of/dev/dri/renderD129", 226, 129}));
    BOOST_TEST((edits.nodes[5] == NodeEdit{"/dev/dri/card1", "/root of/dev/dri/card1", 226, 1}));
    const std::vector<LinkEdit> links = {{"/dev/dri/by-path/pci-0000:10:00.0-card", "../card2"},
                                         {"/dev/dri/by-path/pci-0000:10:00.0-render", "../renderD129"},
                                         {"/dev/dri/by-path/pci-0000:11:00.0-card", "../card1"}};
    BOOST_TEST((edits.links == links));
    BOOST_TEST(host.notes.empty());
}

BOOST_AUTO_TEST_CASE(addresses_are_those_of_the_gpus_that_were_chosen)
{
    Case host({3, 4});
    host.device_nodes.drm = {{1, {std::nullopt, DrmNode{"renderD130", 226, 130}}}};
    const Edits edits = host.plan({1}, named({Graphics}));
    BOOST_TEST((edits.links ==
                std::vector<LinkEdit>{{"/dev/dri/by-path/pci-0000:11:00.0-render", "../renderD130"}}));
}

BOOST_AUTO_TEST_CASE(a_gpu_without_dri_nodes_is_named)
{
    struct Expected {
        Capabilities capabilities;
        LogLevel level = LogLevel::Warning;
    };
    for (const auto &[capabilities, level] :
         {Expected{named({Graphics}), LogLevel::Warning}, Expected{named({Display}), LogLevel::Warning},
          Expected{{{Graphics}, true}, LogLevel::Warning}, Expected{{{}, true}, LogLevel::Info}}) {
        Case host({3, 4});
        host.device_nodes.drm = {{0, {DrmNode{"card2", 226, 2}, std::nullopt}}, {1, {}}};
        host.plan({0, 1}, capabilities);
        BOOST_REQUIRE(host.notes.size() == 1U);
        BOOST_TEST((host.notes[0].level == level));
        BOOST_TEST(
            host.notes[0].text ==
            "GPU 0000:11:00.0 has no node in /dev/dri; 'modprobe nvidia-drm' on the host makes it one");
    }
}

BOOST_AUTO_TEST_CASE(named_nodes_come_last)
{
    Case host;
    host.device_nodes.named = {driver_node("/root of", "/dev/infiniband/rdma_cm", {10, 58})};
    const Edits edits = host.plan({0}, named({Utility, Mofed}));
    NodeEdit last{"/dev/infiniband/rdma_cm", "/root of/dev/infiniband/rdma_cm", 10, 58};
    last.is_of_driver = true;
    BOOST_TEST((edits.nodes.back() == last));
}

BOOST_AUTO_TEST_CASE(proc_has_the_drivers_files_and_the_chosen_gpus)
{
    Case host({2, 0, 1});
    host.inventory.proc.registry = "Binary: \"\"\n";
    host.inventory.gpus[2].directory = "00000000:12:00.0";
    const TmpfsEdit expected{
        "/proc/driver/nvidia",
        {{"version", "NVRM\n"}, {"registry", "Binary: \"\"\n"}, {"params", "A: 1\nModifyDeviceFiles: 0\n"}},
        {{"/root of/proc/driver/nvidia/gpus/0000:10:00.0", "/proc/driver/nvidia/gpus/0000:10:00.0",
          Kind::Directory, true, false},
         {"/root of/proc/driver/nvidia/gpus/00000000:12:00.0", "/proc/driver/nvidia/gpus/00000000:12:00.0",
          Kind::Directory, true, false}}};
    BOOST_TEST((host.plan({0, 2}).proc == expected));
}

BOOST_AUTO_TEST_CASE(params_never_let_nodes_be_made)
{
    Case host;
    host.inventory.proc.params = "";
    const auto proc = host.plan({0}).proc;
    BOOST_TEST((proc->files ==
                std::vector<TmpfsEdit::File>{{"version", "NVRM\n"}, {"params", "ModifyDeviceFiles: 0\n"}}));
}

BOOST_AUTO_TEST_CASE(none_is_the_drivers_files_alone)
{
    // Modules that are not loaded are nobody's concern then.
    Case host({3}, "");
    const Edits edits = host.plan({}, {{Graphics, Display, Gds}, true});
    BOOST_TEST(edits.nodes.empty());
    BOOST_TEST(edits.links.empty());
    BOOST_TEST(edits.proc->files.size() == 2U);
    BOOST_TEST(edits.proc->mounts.empty());
    BOOST_TEST(host.notes.empty());
}

BOOST_AUTO_TEST_CASE(from_the_host_to_the_plan)
{
    for (const char *version : {NvidiaHost::closed_module, NvidiaHost::open_module}) {
        const NvidiaHost host(NvidiaGpu::eight(), version);
        const Sysroot sysroot(host.path());
        Notes notes;
        const Inventory inventory = read_inventory(sysroot, notes);
        const GpuSelection wanted{
            first_of(resolve(parse_selectors({"2,7", "x"}), candidates(inventory), {}, notes)),
            default_capabilities()};
        const Edits edits = plan_of(wanted, inventory, read_device_nodes(sysroot, inventory, wanted), notes);
        BOOST_REQUIRE(edits.nodes.size() == 5U);
        BOOST_TEST((edits.nodes[0] == NodeEdit{"/dev/nvidia1", host.path("dev/nvidia1"), 195, 1}));
        BOOST_TEST((edits.nodes[1] == NodeEdit{"/dev/nvidia4", host.path("dev/nvidia4"), 195, 4}));
        BOOST_TEST(edits.proc->files.front().content == version);
        BOOST_REQUIRE(edits.proc->mounts.size() == 2U);
        BOOST_TEST((edits.proc->mounts[1] == MountEdit{host.path("proc/driver/nvidia/gpus/0000:e3:00.0"),
                                                       "/proc/driver/nvidia/gpus/0000:e3:00.0"}));
    }
}

BOOST_AUTO_TEST_SUITE_END()
