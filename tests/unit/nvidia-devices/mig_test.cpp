// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/host/candidates.h"
#include "nvidia-devices/host/inventory.h"
#include "nvidia/mig.h"
#include "support/expect.h"
#include "support/nvidia_host.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_mig)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::failure_of;
using ogh::test::NvidiaGpu;
using ogh::test::NvidiaHost;

namespace {

constexpr const char *capabilities = "proc/driver/nvidia/capabilities";

Inventory read(const NvidiaHost &host)
{
    Notes notes;
    return read_inventory(Sysroot(host.path()), notes);
}

/** One GPU, of minor 1, with a compute instance 0 in its GPU instance 2. */
struct Host : NvidiaHost {
    Host() : NvidiaHost({{"0000:5e:00.0", 1}}) { instance(1, 2, 0); }

    [[nodiscard]] Gpu gpu() const { return read(*this).gpus.at(0); }
    [[nodiscard]] std::string problem() const { return gpu().instances.at(0).problem; }
};

} // namespace

BOOST_AUTO_TEST_CASE(access_files)
{
    const auto text_of = [](std::string_view text) {
        const auto node = parse_cap_access(text);
        return node ? std::to_string(node->minor) + " " + std::to_string(node->mode) : "";
    };
    BOOST_TEST(text_of("DeviceFileMinor: 12\nDeviceFileMode: 292\nDeviceFileModify: 1\n") == "12 292");
    BOOST_TEST(text_of("New: 1\nDeviceFileMode: 256\nDeviceFileMinor: 1") == "1 256");
    for (const char *text :
         {"", "DeviceFileMinor: 12\n", "DeviceFileMode: 292\n",
          "DeviceFileMinor: 8192\nDeviceFileMode: 292\n", "DeviceFileMinor: 12\nDeviceFileMode: 512\n",
          "DeviceFileMinor: -1\nDeviceFileMode: 292\n", "DeviceFileMinor: 0x1\nDeviceFileMode: 292\n",
          "DeviceFileMinor 12\nDeviceFileMode 292\n"})
        BOOST_TEST(text_of(text) == "", text);
}

BOOST_AUTO_TEST_CASE(minors_by_name)
{
    MigMinors minors(NvidiaHost::mig_minors());
    for (int i = 0; i < 2; ++i) {
        BOOST_TEST(minors.find("config").value() == 1U);
        BOOST_TEST(minors.find("gpu1/gi0/access").value() == 138U);
        BOOST_TEST(minors.find("gpu7/gi14/ci7/access").value() == 1082U);
        BOOST_TEST(minors.find("gpu1/gi0/ci0/access").value() == 139U);
        for (const char *name : {"", "gpu1/gi0", "gpu1/gi15/access", "onfig", "config 1"})
            BOOST_TEST(!minors.find(name), name);
    }
    BOOST_TEST(MigMinors("gpu0/gi1/access 12").find("gpu0/gi1/access").value() == 12U);
    for (const char *text :
         {"", "\n\n", "config", "config ", "config  1", "config x", "config 8192", "config 1 2"})
        BOOST_TEST(!MigMinors(text).find("config"), text);
}

BOOST_AUTO_TEST_CASE(a_host_without_divided_gpus)
{
    const NvidiaHost host({{"0000:5e:00.0", 1}});
    BOOST_TEST(!read(host).gpus.at(0).is_divided);
    BOOST_TEST(read(host).capabilities_directory == "");
    // As a driver without such GPUs has it.
    host.file(std::string(capabilities) + "/mig/config",
              "DeviceFileMinor: 1\nDeviceFileMode: 256\nDeviceFileModify: 1\n");
    host.directory(std::string(capabilities) + "/gpu1/mig");
    BOOST_TEST(!read(host).gpus.at(0).is_divided);
    BOOST_TEST(candidates(read(host)).size() == 1U);
    BOOST_TEST(read(host).capabilities_directory == host.path(capabilities));
}

BOOST_AUTO_TEST_CASE(instances_by_the_device_minor_and_in_the_order_of_their_numbers)
{
    const NvidiaHost host(NvidiaGpu::eight());
    host.instance(3, 11, 0);
    host.instance(3, 2, 1);
    host.instance(3, 2, 0);
    const Inventory inventory = read(host);
    for (const Gpu &gpu : inventory.gpus)
        BOOST_TEST(gpu.is_divided == (gpu.information.minor == 3U));
    const auto &found = inventory.gpus.at(1).instances;
    const auto instance = [](unsigned outer, unsigned inner, unsigned gpu_node, unsigned compute_node) {
        return MigInstance{outer, inner, CapNode{gpu_node, 0444}, CapNode{compute_node, 0444}};
    };
    BOOST_TEST((found == std::vector<MigInstance>{instance(2, 0, 426, 427), instance(2, 1, 426, 428),
                                                  instance(11, 0, 507, 508)}));
}

BOOST_AUTO_TEST_CASE(a_gpu_instance_alone_divides_a_gpu)
{
    const NvidiaHost host({{"0000:5e:00.0", 1}});
    host.cap(std::string(capabilities) + "/gpu1/mig/gi0", 138);
    BOOST_TEST(read(host).gpus.at(0).is_divided);
    BOOST_TEST(read(host).gpus.at(0).instances.empty());
}

BOOST_AUTO_TEST_CASE(a_minor_that_is_not_said_twice_is_not_handed_out)
{
    BOOST_TEST(Host().problem() == "");
    const std::string inner = std::string(capabilities) + "/gpu1/mig/gi2/ci0";
    const Host forged;
    forged.cap(inner, 1);
    BOOST_TEST(forged.problem().find("has the minor 1, and '") != std::string::npos, forged.problem());
    const Host unlisted;
    std::filesystem::remove(unlisted.path("proc/driver/nvidia-caps/mig-minors"));
    BOOST_TEST(unlisted.problem().find("has the minor 156, and") != std::string::npos, unlisted.problem());
    const Host empty;
    empty.file(inner + "/access", "");
    BOOST_TEST(empty.problem().find("names no usable node in '") != std::string::npos, empty.problem());
    const Host missing;
    std::filesystem::remove(missing.path(inner + "/access"));
    BOOST_TEST(missing.problem().find("names no usable node in '") != std::string::npos);
    const Host large;
    large.file(inner + "/access", std::string(4097, '\n'));
    BOOST_TEST(large.problem().find("is larger than 4096 bytes") != std::string::npos, large.problem());
}

BOOST_AUTO_TEST_CASE(other_names_are_passed_over)
{
    const Host host;
    for (const char *name : {"gi", "gi02", "gi256", "gi1x", "ci0", "access"})
        host.directory(std::string(capabilities) + "/gpu1/mig/" + name);
    host.directory(std::string(capabilities) + "/gpu1/mig/gi2/ci00");
    BOOST_TEST(host.gpu().instances.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_gpu_whose_instances_cannot_be_read_is_not_given_as_if_it_were_whole)
{
    const NvidiaHost symlink({{"0000:5e:00.0", 1}});
    symlink.directory(std::string(capabilities) + "/gpu1");
    symlink.link(std::string(capabilities) + "/gpu1/mig", "/etc");
    BOOST_TEST(read(symlink).gpus.at(0).problem != "");
    const NvidiaHost file({{"0000:5e:00.0", 1}});
    file.file(std::string(capabilities) + "/gpu1/mig/gi0", "");
    const Gpu gpu = read(file).gpus.at(0);
    BOOST_TEST((gpu.problem_kind == ErrorKind::BrokenHost));
    BOOST_TEST(gpu.problem.find("/gpu1/mig/gi0") != std::string::npos, gpu.problem);
}

BOOST_AUTO_TEST_SUITE_END()
