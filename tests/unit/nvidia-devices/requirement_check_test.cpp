// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/host/gpu_facts.h"
#include "nvidia-devices/plan/requirement_check.h"
#include "support/expect.h"
#include "support/nvidia_host.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_requirement_check)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::failure_of;
using ogh::test::NvidiaGpu;
using ogh::test::NvidiaHost;

namespace {

/** All that is said of a GPU, of which nothing but these is known. */
std::string said(const std::vector<std::string> &texts, const GpuFacts &facts)
{
    std::vector<Requirement> requirements;
    for (const std::string &text : texts)
        requirements.push_back(parse_requirement({text, "environment variable 'V'"}));
    Notes notes;
    check_gpu(requirements, facts, "0 (GPU-1)", notes);
    std::string text;
    for (const Note &note : notes) {
        BOOST_TEST((note.level == LogLevel::Warning));
        text += note.text + "\n";
    }
    return text;
}

} // namespace

BOOST_AUTO_TEST_CASE(what_is_met_is_not_spoken_of)
{
    BOOST_TEST(said({}, {}) == "");
    BOOST_TEST(said({"cuda>=12.5", "driver>=550"}, {KnownVersion{{12, 5}}, {}, "555.42.07", {}}) == "");
}

BOOST_AUTO_TEST_CASE(what_is_missing_is_said_with_what_there_is)
{
    const auto failure = failure_of([] {
        said({"cuda>=12", "cuda>=13.0 brand=tesla,driver>=550,driver<551"},
             {KnownVersion{{12, 5}}, {}, "555.42.07", {"geforce", "geforcertx"}});
    });
    BOOST_TEST((failure.kind == ErrorKind::NotAvailable));
    BOOST_TEST(
        failure.message ==
        "the image needs 'cuda>=13.0 brand=tesla,driver>=550,driver<551' (environment variable 'V'), and GPU "
        "0 "
        "(GPU-1) has cuda 12.5, driver 555.42.07, brand geforce or geforcertx; take an image for this driver "
        "and GPU, or a host with others; NVIDIA_DISABLE_REQUIRE=true in the container's environment has it "
        "start nevertheless");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_told_is_a_warning)
{
    BOOST_TEST(said({"arch>=9", "cuda>=14"}, {KnownVersion{{13, 1}, true}, {}, "", {}}) ==
               "the image needs 'arch>=9' (environment variable 'V'), and GPU 0 (GPU-1) has arch not known: "
               "whether that "
               "is enough cannot be told; if it is not, its programs fail\n"
               "the image needs 'cuda>=14' (environment variable 'V'), and GPU 0 (GPU-1) has cuda 13.1 or "
               "newer: whether "
               "that is enough cannot be told; if it is not, its programs fail\n");
}

BOOST_AUTO_TEST_CASE(a_requirement_without_end_is_cut_in_messages)
{
    const auto failure = failure_of([] { said({"cuda>=99 " + std::string(9000, 'x') + "=1"}, {}); });
    BOOST_TEST((failure.kind == ErrorKind::Usage));
    std::string many = "cuda>=99";
    for (unsigned i = 0; i < 1000; ++i)
        many += " brand=tesla";
    const auto unmet = failure_of([&] { said({many}, {KnownVersion{{12, 5}}, {}, "", {"nvs"}}); });
    BOOST_TEST((unmet.kind == ErrorKind::NotAvailable));
    BOOST_TEST(unmet.message.size() < 600U);
}

BOOST_AUTO_TEST_CASE(each_gpu_that_was_chosen_counts)
{
    const NvidiaHost host(
        {NvidiaGpu::numbered("0000:5e:00.0", 0, "00"), NvidiaGpu::numbered("0000:5f:00.0", 1, "01")});
    host.file("sys/bus/pci/devices/0000:5e:00.0/device", "0x2330\n"); // 9.0
    host.file("sys/bus/pci/devices/0000:5f:00.0/device", "0x20b0\n"); // 8.0
    const Sysroot sysroot(host.path());
    Notes notes;
    const Inventory inventory = read_inventory(sysroot, notes);
    const std::vector<Requirement> requirements{parse_requirement({"arch>=9", "environment variable 'V'"})};
    const std::vector<GpuFacts> facts{read_gpu_facts(sysroot, inventory, 0),
                                      read_gpu_facts(sysroot, inventory, 1)};
    check_requirements(requirements, facts, {}, inventory, notes);
    check_requirements(requirements, facts, {0}, inventory, notes);
    BOOST_TEST(notes.empty());
    const auto failure = failure_of([&] {
        check_requirements(requirements, facts, {0, 1}, inventory, notes);
    });
    BOOST_TEST((failure.kind == ErrorKind::NotAvailable));
    BOOST_TEST(failure.says("GPU 1 (GPU-5a1c0de0-1111-4222-8333-012345678901) has arch 8.0"),
               failure.message);
}

BOOST_AUTO_TEST_SUITE_END()
