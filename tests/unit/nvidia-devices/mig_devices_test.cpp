// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "lease/state/lease_state.h"
#include "nvidia-devices/host/candidates.h"
#include "nvidia-devices/plan/plan.h"
#include "request/availability.h"
#include "request/selection.h"
#include "support/expect.h"
#include "support/nvidia_host.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_mig_devices)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::Failure;
using ogh::test::failure_of;
using ogh::test::NvidiaGpu;
using ogh::test::NvidiaHost;

namespace {

constexpr const char *uuid = "GPU-5a1c0de0-1111-4222-8333-0123456789a1";

/** GPU 0 is whole, and has the minor 1; GPU 1 is divided into 1/0, 1/1 and 7/0, and has the minor 0. */
struct Host : NvidiaHost {
    Inventory inventory;
    std::vector<Candidate> list;
    mutable Notes notes;

    Host()
        : NvidiaHost(
              {NvidiaGpu::numbered("0000:18:00.0", 1, "a0"), NvidiaGpu::numbered("0000:3b:00.0", 0, "a1")})
    {
        instance(0, 7, 0);
        instance(0, 1, 1);
        instance(0, 1, 0);
        read();
    }

    void read()
    {
        inventory = read_inventory(Sysroot(path()), notes);
        list = candidates(inventory);
    }

    /** "GPUs; instances", by their places. */
    [[nodiscard]] std::string chosen(const std::string &asked, const SelectionPolicy &policy = {}) const
    {
        const Selectors selectors = parse_selectors({asked, "x"});
        const GpuSelection selection =
            selection_of(first_of(resolve(selectors, list, policy, notes)), inventory);
        std::string text;
        for (const size_t gpu : selection.gpus)
            text += std::to_string(gpu) + " ";
        text += ";";
        for (const auto &[gpu, instance] : selection.instances)
            text += " " + std::to_string(gpu) + ":" + std::to_string(instance);
        return text;
    }

    [[nodiscard]] Failure failure(const std::string &asked, const SelectionPolicy &policy = {}) const
    {
        return failure_of([&] { static_cast<void>(chosen(asked, policy)); });
    }

    [[nodiscard]] Edits plan(const std::string &asked, Notes &said) const
    {
        NvidiaInputs inputs;
        inputs.selection =
            selection_of(first_of(resolve(parse_selectors({asked, "x"}), list, {}, said)), inventory);
        inputs.selection.capabilities = {{Capability::Utility}, false};
        inputs.inventory = inventory;
        return inputs.plan(said);
    }
};

std::string name_of(const std::string &instance)
{
    return "MIG-" + std::string(uuid) + "/" + instance;
}

SelectionPolicy allowing(const std::string &allow)
{
    return {parse_allowed_selectors({allow, "x"}), {}};
}

} // namespace

BOOST_AUTO_TEST_CASE(an_instance_by_its_name)
{
    const Host host;
    BOOST_TEST(host.chosen(name_of("1/0")) == "1 ; 1:0");
    BOOST_TEST(host.chosen("mig-gpu-5A1C0DE0-1111-4222-8333-0123456789A1/7/0") == "1 ; 1:2");
    BOOST_TEST(host.chosen("0000:3b:00.0/1/1") == "1 ; 1:1");
    for (const std::string gpu : {"1", "0000:3b:00.0", uuid})
        BOOST_TEST(host.chosen(gpu + ":1:1") == "1 ; 1:1", gpu);
    for (const char *name : {"0:1:1", "1:1", "1:1:2", "1:1:1:0"})
        BOOST_TEST((host.failure(name).kind == ErrorKind::NotAvailable), name);
    BOOST_TEST(host.chosen("0," + name_of("7/0") + "," + name_of("1/0")) == "0 1 ; 1:0 1:2");
    const auto failure = host.failure(name_of("2/0"));
    BOOST_TEST((failure.kind == ErrorKind::NotAvailable));
    BOOST_TEST(failure.says("this host has 0 (GPU-"), failure.message);
    BOOST_TEST(failure.says(name_of("7/0")), failure.message);
}

BOOST_AUTO_TEST_CASE(all_and_any_take_instances_of_what_is_divided)
{
    const Host host;
    BOOST_TEST(host.chosen("all") == "0 1 ; 1:0 1:1 1:2");
    BOOST_TEST(host.chosen("any:4") == "0 1 ; 1:0 1:1 1:2");
    BOOST_TEST((host.failure("any:5").kind == ErrorKind::NotAvailable));
    BOOST_TEST(host.list.size() == 5U);
}

BOOST_AUTO_TEST_CASE(a_divided_gpu_by_its_own_name_is_all_of_its_instances)
{
    const Host host;
    for (const std::string asked : {"1", uuid, "0000:3b:00.0"})
        BOOST_TEST(host.chosen(asked) == "1 ; 1:0 1:1 1:2", asked);
    BOOST_TEST(host.chosen("1," + name_of("1/0")) == "1 ; 1:0 1:1 1:2");
    BOOST_TEST(host.chosen("0") == "0 ;");
}

BOOST_AUTO_TEST_CASE(an_instance_that_has_a_problem_is_left_out)
{
    Host host;
    host.cap("proc/driver/nvidia/capabilities/gpu0/mig/gi1/ci1", 2);
    host.read();
    BOOST_TEST(host.chosen("1") == "1 ; 1:0 1:2");
    BOOST_TEST(host.chosen("all") == "0 1 ; 1:0 1:2");
    BOOST_TEST((host.failure(name_of("1/1")).kind == ErrorKind::BrokenHost));
}

BOOST_AUTO_TEST_CASE(the_hosts_policy)
{
    const Host host;
    BOOST_TEST(host.chosen(name_of("1/0"), allowing("1")) == "1 ; 1:0");
    BOOST_TEST(host.chosen("all", allowing("1")) == "1 ; 1:0 1:1 1:2");
    BOOST_TEST(host.chosen("all", allowing(name_of("1/0"))) == "1 ; 1:0");
    for (const std::string asked : {"1", "0000:3b:00.0", "0"})
        BOOST_TEST((host.failure(asked, allowing(name_of("1/0"))).kind == ErrorKind::Denied), asked);
    BOOST_TEST((host.failure(name_of("1/0"), allowing("0")).kind == ErrorKind::Denied));
    SelectionPolicy both = allowing("1");
    both.allow_too = parse_allowed_selectors({name_of("7/0"), "x"});
    BOOST_TEST(host.chosen("all", both) == "1 ; 1:2");
    BOOST_TEST((host.failure(name_of("1/0"), both).kind == ErrorKind::Denied));
    BOOST_TEST((host.failure(name_of("1/0") + "," + name_of("1/1"), {{}, 1}).kind == ErrorKind::Denied));
}

BOOST_AUTO_TEST_CASE(only_what_a_request_can_mean_is_read)
{
    const Host host;
    const auto meant = [&](const std::string &asked) {
        std::string text;
        for (const auto &[gpu, instance] : meant_instances(parse_selectors({asked, "x"}), host.inventory))
            text += " " + std::to_string(gpu) + ":" + std::to_string(instance);
        return text;
    };
    for (const std::string asked : {"all", "any:1", "allowed", "0,any:1", "1", "0-1", uuid, "3b:00.0"})
        BOOST_TEST(meant(asked) == " 1:0 1:1 1:2", asked);
    for (const std::string asked : {"0", "none", "2", "0000:18:00.0", "GPU-1"})
        BOOST_TEST(meant(asked) == "", asked);
    BOOST_TEST(meant(name_of("1/1") + ",0000:3B:00.0/7/0") == " 1:1 1:2");
}

BOOST_AUTO_TEST_CASE(an_instance_that_nobody_has_read_is_not_handed_out)
{
    Host host;
    Notes notes;
    host.inventory = find_gpus(Sysroot(host.path()), notes);
    const auto failure = failure_of([&] { static_cast<void>(host.plan(name_of("1/0"), notes)); });
    BOOST_TEST((failure.kind == ErrorKind::Failure));
    BOOST_TEST(failure.says("nobody has looked at the instance of 'gpu0/mig/gi1/access'"), failure.message);
    read_instances(Sysroot(host.path()), host.inventory, {{1, 0}});
    BOOST_TEST(host.plan(name_of("1/0"), notes).nodes.size() == 4U);
    BOOST_TEST(!host.inventory.gpus[1].instances[1].compute_node);
    BOOST_TEST((failure_of([&] { static_cast<void>(host.plan("1", notes)); }).kind == ErrorKind::Failure));
}

BOOST_AUTO_TEST_CASE(leases_exclude_a_gpu_and_its_instances)
{
    const Host host;
    const auto key = [&](size_t place) { return host.list.at(place).lease_key; };
    BOOST_TEST(key(2) == "nvidia:0000:3b:00.0/1/0");
    for (size_t place = 2; place < 5; ++place) {
        BOOST_TEST(overlap(key(place), key(1)));
        BOOST_TEST(!overlap(key(place), key(0)));
        BOOST_TEST(gpu_of(key(place)) == key(1));
    }
    BOOST_TEST(!overlap(key(2), key(3)));
}

BOOST_AUTO_TEST_CASE(what_the_library_alone_knows)
{
    const auto found = [](const std::string &asked, const SelectionPolicy &policy) {
        return find_library_name(parse_selectors({asked, "x"}), policy).value_or("");
    };
    SelectionPolicy too;
    too.allow_too = parse_allowed_selectors({"0,0:1", "x"});
    BOOST_TEST(found("all", too) == "0:1");
    BOOST_TEST(found("none", too) == "");
    for (const std::string name : {"0:1", "MIG-5a1c0de0-1111-4222-8333-0123456789ff", "mig-1g.10gb"}) {
        for (const std::string &asked : {name, "0," + name, name + ",any:1"})
            BOOST_TEST(found(asked, {}) == name, asked);
        BOOST_TEST(found("1", allowing(name)) == name);
        BOOST_TEST(found("none", allowing(name)) == "");
    }
    BOOST_TEST(found("0,any:mig-1g.10gb:2", {}) == "mig-1g.10gb");
    for (const std::string asked :
         {"0", "all", "any:1", "any:gfx1100:1", "0000:3b:00.0/1/1", "3b:00.0", "GPU-1", "MIG-GPU-1/2/3", "M"})
        BOOST_TEST(found(asked, {}) == "", asked);
    const Host host;
    BOOST_TEST(without_library(host.inventory).starts_with("ask for them as '" + name_of("1/0") + "', '"));
    BOOST_TEST(without_library({}) == "this host has no instances");
}

BOOST_AUTO_TEST_CASE(names_of_the_library)
{
    Host host;
    MigInstance &instance = host.inventory.gpus[1].instances[2];
    instance.names = {"1:3", "MIG-5a1c0de0-1111-4222-8333-0123456789ff"};
    instance.group = "mig-1g.10gb";
    host.list = candidates(host.inventory);
    for (const std::string asked : {"1:3", "mig-5A1c0de0-1111-4222-8333-0123456789ff", "mig-1g.10gb",
                                    "any:mig-1g.10gb:1", "MIG-1G.10GB"})
        BOOST_TEST(host.chosen(asked) == "1 ; 1:2", asked);
    BOOST_TEST(host.chosen("all", allowing("1:3")) == "1 ; 1:2");
    BOOST_TEST(host.list.at(4).description == name_of("7/0"));
    BOOST_TEST((host.failure("any:mig-1g.10gb:2").kind == ErrorKind::NotAvailable));
    BOOST_TEST(host.failure("any:mig-2g.20gb:1").says("no GPU 'any:mig-2g.20gb:1': this host has 0 ("));
}

BOOST_AUTO_TEST_CASE(nodes_and_files_of_the_chosen_instances_alone)
{
    const Host host;
    Notes notes;
    const Edits edits = host.plan(name_of("1/0") + "," + name_of("1/1"), notes);
    const auto cap = [&](unsigned minor) {
        const std::string path = "/dev/nvidia-caps/nvidia-cap" + std::to_string(minor);
        return NodeEdit{path, host.path() + path, 511, minor, 0444};
    };
    std::vector<NodeEdit> nodes = {{"/dev/nvidia0", host.path("dev/nvidia0"), 195, 0},
                                   {"/dev/nvidiactl", host.path("dev/nvidiactl"), 195, 255},
                                   cap(12),
                                   cap(13),
                                   cap(14)};
    nodes[1].is_of_driver = true;
    BOOST_TEST((edits.nodes == nodes));
    std::vector<MountEdit> mounts = {
        {host.path("proc/driver/nvidia/gpus/0000:3b:00.0"), "/proc/driver/nvidia/gpus/0000:3b:00.0"}};
    for (const std::string access : {"gi1/access", "gi1/ci0/access", "gi1/ci1/access"}) {
        const std::string path = "proc/driver/nvidia/capabilities/gpu0/mig/" + access;
        mounts.push_back({host.path(path), "/" + path, Kind::File});
    }
    BOOST_TEST((edits.proc->mounts == mounts));
    BOOST_TEST(host.plan("0", notes).nodes.size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_driver_without_such_nodes)
{
    Host host;
    host.devices("195 nvidia\n510 nvidia-uvm\n512 nvidia-caps-imex-channels\n");
    host.read();
    Notes notes;
    const auto failure = failure_of([&] { static_cast<void>(host.plan("1", notes)); });
    BOOST_TEST((failure.kind == ErrorKind::BrokenHost));
    BOOST_TEST(failure.says("has no nvidia-caps in /proc/devices"), failure.message);
}

BOOST_AUTO_TEST_CASE(a_gpu_without_a_uuid)
{
    NvidiaHost host({{"0000:5e:00.0", 0, ""}});
    host.instance(0, 1, 0);
    Notes notes;
    const auto list = candidates(read_inventory(Sysroot(host.path()), notes));
    BOOST_TEST(list.at(1).description == "0000:5e:00.0/1/0");
}

BOOST_AUTO_TEST_CASE(the_list_has_a_line_for_each)
{
    const Host host;
    const HostListing listing = list_gpus(host.inventory, candidates(host.inventory), {});
    BOOST_REQUIRE(listing.rows.size() == 5U);
    const std::vector<HostListing::Cell> expected = {
        nullptr, "0000:3b:00.0", name_of("1/1"), "NVIDIA Example 48", "/dev/nvidia-caps/nvidia-cap14", ""};
    BOOST_TEST((listing.rows[3] == expected));
}

BOOST_AUTO_TEST_SUITE_END()
