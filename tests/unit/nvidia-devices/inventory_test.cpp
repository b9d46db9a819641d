// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>

#include "nvidia-devices/host/candidates.h"
#include "nvidia-devices/host/inventory.h"
#include "request/selection.h"
#include "support/expect.h"
#include "support/nvidia_host.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_inventory)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::failure_of;
using ogh::test::NvidiaGpu;
using ogh::test::NvidiaHost;

namespace {

const std::vector<NvidiaGpu> no_gpus;
constexpr const char *first_uuid = "GPU-5a1c0de0-1111-4222-8333-0123456789ab";

Inventory read(const NvidiaHost &host)
{
    Notes notes;
    return read_inventory(Sysroot(host.path()), notes);
}

/** With a driver, and one GPU unless there is to be none. */
struct Host : NvidiaHost {
    explicit Host(const std::vector<NvidiaGpu> &gpus = {{"0000:5e:00.0", 3}},
                  const char *version = closed_module)
        : NvidiaHost(gpus, version)
    {
    }

    [[nodiscard]] Candidate only() const
    {
        const auto list = candidates(read(*this));
        BOOST_REQUIRE(list.size() == 1U);
        return list.front();
    }
};

/** "INDEX=ADDRESS/MINOR" of each, in order. */
std::string text_of(const Inventory &inventory)
{
    std::string text;
    const auto list = candidates(inventory);
    for (size_t i = 0; i < list.size(); ++i) {
        const auto minor_number = inventory.gpus[i].information.minor;
        text += (text.empty() ? "" : " ") + (list[i].index ? std::to_string(*list[i].index) : "-") + "=" +
                to_text(list[i].address) + "/" + (minor_number ? std::to_string(*minor_number) : "-");
    }
    return text;
}

void check_unusable(const Host &host, const std::string &why)
{
    const Candidate gpu = host.only();
    BOOST_TEST(gpu.index.value_or(9) == 0U);
    BOOST_TEST((gpu.problem_kind == ErrorKind::BrokenHost));
    BOOST_TEST(gpu.problem.find(why) != std::string::npos, gpu.problem);
    Notes notes;
    const auto list = candidates(read(host));
    for (const char *value : {"all", "any:1"})
        BOOST_TEST((failure_of([&] {
                        first_of(resolve(parse_selectors({value, "x"}), list, {}, notes));
                    }).kind == ErrorKind::NotAvailable),
                   value);
    const auto failure = failure_of([&] { first_of(resolve(parse_selectors({"0", "x"}), list, {}, notes)); });
    BOOST_TEST((failure.kind == ErrorKind::BrokenHost));
    BOOST_TEST(failure.says(why), failure.message);
}

} // namespace

BOOST_AUTO_TEST_CASE(one_gpu)
{
    const Host host;
    const Inventory inventory = read(host);
    BOOST_TEST(inventory.has_driver);
    BOOST_TEST(inventory.proc.params.value().find("ModifyDeviceFiles: 1\n") != std::string::npos);
    BOOST_REQUIRE(inventory.gpus.size() == 1U);
    const Gpu &gpu = inventory.gpus[0];
    BOOST_TEST((gpu.information == GpuInformation{"NVIDIA Example 48", first_uuid, 3, false}));
    BOOST_TEST(gpu.directory == "0000:5e:00.0");
    const Candidate candidate = host.only();
    BOOST_TEST(candidate.problem.empty());
    BOOST_TEST(candidate.description == first_uuid);
    BOOST_TEST(candidate.names == std::vector<std::string>{first_uuid}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(eight_gpus_in_pci_order_whatever_their_minors)
{
    const Host host(NvidiaGpu::eight());
    BOOST_TEST(text_of(read(host)) == "0=0000:03:00.0/2 1=0000:26:00.0/3 2=0000:43:00.0/1 3=0000:63:00.0/0 "
                                      "4=0000:83:00.0/6 5=0000:a3:00.0/7 6=0000:c3:00.0/5 7=0000:e3:00.0/4");
    Notes notes;
    BOOST_TEST((first_of(resolve(parse_selectors({"0,gpu-5a1c0de0-1111-4222-8333-012345678904", "x"}),
                                 candidates(read(host)), {}, notes)) == std::vector<size_t>{0, 7}));
}

BOOST_AUTO_TEST_CASE(domains_come_first_and_may_have_more_digits)
{
    const Host host({NvidiaGpu::numbered("00010000:01:00.0", 0, "00"),
                     NvidiaGpu::numbered("00000001:01:00.0", 1, "01"),
                     NvidiaGpu::numbered("00000000:5e:00.0", 2, "02")});
    const Inventory inventory = read(host);
    BOOST_TEST(text_of(inventory) == "0=0000:5e:00.0/2 1=0001:01:00.0/1 2=10000:01:00.0/0");
    BOOST_REQUIRE(!inventory.gpus.empty());
    BOOST_TEST(inventory.gpus[0].directory == "00000000:5e:00.0");
}

BOOST_AUTO_TEST_CASE(the_closed_and_the_open_module)
{
    BOOST_TEST((read(Host()).version == "555.42.07"));
    BOOST_TEST((read(Host(no_gpus, NvidiaHost::open_module)).version == "601.10.03"));
}

BOOST_AUTO_TEST_CASE(a_version_that_cannot_be_understood_is_named)
{
    const Host host({{"0000:5e:00.0", 0}}, "something else\n");
    Notes notes;
    const Inventory inventory = read_inventory(Sysroot(host.path()), notes);
    BOOST_TEST(inventory.gpus.size() == 1U);
    BOOST_TEST(!inventory.version);
    BOOST_REQUIRE(notes.size() == 1U);
    BOOST_TEST((notes[0].level == LogLevel::Warning));
    BOOST_TEST(notes[0].text.find("something else") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_host_without_the_driver)
{
    const NvidiaHost host;
    BOOST_TEST(!read(host).has_driver);
    BOOST_TEST(candidates(read(host)).empty());
    const auto failure = failure_of([&] { require_driver(read(host)); });
    BOOST_TEST((failure.kind == ErrorKind::NotAvailable));
    BOOST_TEST(failure.message == "this host has no NVIDIA driver (no /proc/driver/nvidia/version)");
    host.directory("proc/driver/nvidia/gpus");
    BOOST_TEST(!read(host).has_driver);
}

namespace {

void check_names_cdi_devices(const NvidiaHost &host)
{
    for (const auto &require : {require_driver, require_gpu}) {
        const auto failure = failure_of([&] { require(read(host)); });
        BOOST_TEST(failure.message.find("a Jetson (Tegra), whose GPU the hook cdi-devices gives") !=
                       std::string::npos,
                   failure.message);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_jetson_has_another_hook)
{
    const NvidiaHost by_file;
    by_file.file("etc/nv_tegra_release", "# R36 (release)\n");
    check_names_cdi_devices(by_file);
    const NvidiaHost by_chip;
    by_chip.file("sys/devices/soc0/family", "Tegra\n");
    check_names_cdi_devices(by_chip);
    const NvidiaHost other;
    other.file("sys/devices/soc0/family", "Snapdragon\n");
    BOOST_TEST(!read(other).is_tegra);
}

BOOST_AUTO_TEST_CASE(a_jetson_whose_driver_lists_no_gpu)
{
    const Host host(no_gpus);
    BOOST_TEST(!read(host).is_tegra);
    host.file("etc/nv_tegra_release", "# R38 (release)\n");
    const auto failure = failure_of([&] { require_gpu(read(host)); });
    BOOST_TEST(failure.message.find("the hook cdi-devices") != std::string::npos, failure.message);
}

BOOST_AUTO_TEST_CASE(files_of_the_driver_are_kept_as_they_are)
{
    const Host host;
    BOOST_TEST(read(host).proc.version.value() == NvidiaHost::closed_module);
    BOOST_TEST(!read(host).proc.registry.has_value());
    host.file("proc/driver/nvidia/registry", "Binary: \"\"\n");
    BOOST_TEST(read(host).proc.registry.value() == "Binary: \"\"\n");
}

BOOST_AUTO_TEST_CASE(paths_are_those_of_this_process_without_symlinks)
{
    const Host host;
    BOOST_TEST(read(host).host_root == host.path());
    BOOST_TEST(read(host).gpus_directory == host.path("proc/driver/nvidia/gpus"));
    std::filesystem::rename(host.path("proc/driver"), host.path("elsewhere"));
    host.link("proc/driver", "/elsewhere");
    BOOST_TEST(read(host).gpus_directory == host.path("elsewhere/nvidia/gpus"));
}

BOOST_AUTO_TEST_CASE(a_driver_without_a_gpu)
{
    const Host host(no_gpus);
    require_driver(read(host));
    std::filesystem::remove(host.path("proc/driver/nvidia/gpus"));
    BOOST_TEST(read(host).gpus.empty());
}

BOOST_AUTO_TEST_CASE(a_gpu_may_have_no_uuid_yet)
{
    const std::string unknown = "GPU UUID: \t GPU-" + std::string(8, '?') + "-" + std::string(4, '?') + "\n";
    for (const std::string &line :
         {std::string(), unknown, std::string("GPU UUID: \t GPU-\n"), std::string("GPU UUID: \t N/A\n")}) {
        const Candidate gpu = Host({{"0000:5e:00.0", 3, line}}).only();
        BOOST_TEST(gpu.problem.empty(), line);
        BOOST_TEST(gpu.names.empty(), line);
        BOOST_TEST(gpu.description == "0000:5e:00.0", line);
    }
}

BOOST_AUTO_TEST_CASE(an_excluded_gpu_has_no_index_and_is_not_handed_out)
{
    for (const char *line : {"GPU Excluded:\t Yes\n", "Blacklisted:\t Yes\n"}) {
        NvidiaGpu excluded{"0000:0d:00.0", 3};
        excluded.excluded_line = line;
        const Host host({excluded, NvidiaGpu::numbered("0000:5e:00.0", 3, "01")});
        const Inventory inventory = read(host);
        BOOST_TEST(text_of(inventory) == "-=0000:0d:00.0/3 0=0000:5e:00.0/3", line);
        Notes notes;
        const auto list = candidates(inventory);
        BOOST_TEST(
            (first_of(resolve(parse_selectors({"all", "x"}), list, {}, notes)) == std::vector<size_t>{1}));
        const auto failure = failure_of([&] {
            first_of(resolve(parse_selectors({first_uuid, "x"}), list, {}, notes));
        });
        BOOST_TEST((failure.kind == ErrorKind::NotAvailable));
        BOOST_TEST(failure.says("NVreg_ExcludedGpus"), failure.message);
    }
    NvidiaGpu old{"0000:0d:00.0", 0};
    old.excluded_line = "Blacklisted:\t No\n";
    BOOST_TEST(Host({old}).only().problem.empty());
}

BOOST_AUTO_TEST_CASE(a_gpu_whose_information_is_missing)
{
    const Host host(no_gpus);
    host.directory("proc/driver/nvidia/gpus/0000:5e:00.0");
    check_unusable(host, "the driver says nothing about it");
}

BOOST_AUTO_TEST_CASE(a_gpu_whose_information_cannot_be_read)
{
    const Host a_directory(no_gpus);
    a_directory.directory("proc/driver/nvidia/gpus/0000:5e:00.0/information");
    check_unusable(a_directory, "it is no plain file");
    const Host a_fifo(no_gpus);
    a_fifo.directory("proc/driver/nvidia/gpus/0000:5e:00.0");
    BOOST_REQUIRE(::mkfifo(a_fifo.path("proc/driver/nvidia/gpus/0000:5e:00.0/information").c_str(), 0600) ==
                  0);
    check_unusable(a_fifo, "it is no plain file");
    const Host a_file(no_gpus);
    a_file.file("proc/driver/nvidia/gpus/0000:5e:00.0");
    check_unusable(a_file, "Not a directory");
    const Host too_long(no_gpus);
    too_long.file("proc/driver/nvidia/gpus/0000:5e:00.0/information", std::string(65537, '\n'));
    check_unusable(too_long, "is larger than 65536 bytes");
}

BOOST_AUTO_TEST_CASE(a_gpu_without_a_usable_minor)
{
    check_unusable(Host({{"0000:5e:00.0", 248}}), "no usable device minor");
    for (const char *text : {"", "Model: \t\t X", "Device Minor: \t -1\n", "Device Minor: \t \n",
                             "Device Minor:", "Device Minor: \t 3 4\n", "\xff\n:\n: :\n",
                             "Device Minor \t 3\n", "Minor: \t 3\n"}) {
        const Host host(no_gpus);
        host.file("proc/driver/nvidia/gpus/0000:5e:00.0/information", text);
        check_unusable(host, "no usable device minor");
    }
    BOOST_TEST(Host({{"0000:5e:00.0", 247}}).only().problem.empty());
}

BOOST_AUTO_TEST_CASE(gpus_that_share_a_minor_are_not_handed_out)
{
    const Host host({NvidiaGpu::numbered("0000:0d:00.0", 1, "00"),
                     NvidiaGpu::numbered("0000:1b:00.0", 0, "01"),
                     NvidiaGpu::numbered("0000:5e:00.0", 1, "02")});
    Notes notes;
    BOOST_TEST((first_of(resolve(parse_selectors({"all", "x"}), candidates(read(host)), {}, notes)) ==
                std::vector<size_t>{1}));
    BOOST_TEST(notes.size() == 2U);
}

BOOST_AUTO_TEST_CASE(directories_that_are_no_address_are_passed_over)
{
    const Host host;
    host.directory("proc/driver/nvidia/gpus/5e:00.0");
    host.directory("proc/driver/nvidia/gpus/a\nb");
    Notes notes;
    BOOST_TEST(read_inventory(Sysroot(host.path()), notes).gpus.size() == 1U);
    BOOST_TEST(notes.size() == 2U);
}

BOOST_AUTO_TEST_CASE(more_gpus_than_there_can_be_are_refused)
{
    const Host host(no_gpus);
    for (unsigned i = 0; i <= 1024; ++i)
        host.directory("proc/driver/nvidia/gpus/" + std::to_string(1000 + i) + ":5e:00.0");
    const auto failure = failure_of([&] { static_cast<void>(read(host)); });
    BOOST_TEST((failure.kind == ErrorKind::BrokenHost));
    BOOST_TEST(failure.says("has more than 1024 entries"), failure.message);
}

BOOST_AUTO_TEST_CASE(majors_come_from_proc_devices)
{
    const Host host;
    BOOST_TEST(gpu_major(read(host)) == 195U);
    BOOST_TEST(module_major(read(host), uvm_devices) == 510U);
    host.devices("196 nvidia-frontend\n195 nvidia-modeset\n");
    BOOST_TEST(gpu_major(read(host)) == 196U);
    host.devices("195 nvidiactl\n");
    BOOST_TEST(gpu_major(read(host)) == 195U);
    host.devices("195 nvidia-modeset\n195 nvidia-nvlink\n");
    BOOST_TEST((failure_of([&] { gpu_major(read(host)); }).kind == ErrorKind::BrokenHost));
}

BOOST_AUTO_TEST_CASE(a_missing_module_is_an_error_that_says_how_to_load_it)
{
    const Host host;
    host.devices("195 nvidia\n195 nvidiactl\n510 nvidia-uvm-other\n");
    const auto failure = failure_of([&] { module_major(read(host), uvm_devices); });
    BOOST_TEST((failure.kind == ErrorKind::BrokenHost));
    BOOST_TEST(
        failure.message ==
        "the kernel module nvidia-uvm is not loaded; 'modprobe nvidia-uvm' on the host loads it, and a "
        "line 'nvidia-uvm' in /etc/modules-load.d/nvidia-uvm.conf does at every start");
    BOOST_TEST(
        failure_of([&] { module_major(read(host), modeset_devices); }).says("modprobe nvidia-modeset"));
}

BOOST_AUTO_TEST_SUITE_END()
