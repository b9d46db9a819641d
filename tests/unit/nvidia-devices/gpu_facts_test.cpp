// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/host/gpu_facts.h"
#include "support/nvidia_host.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_gpu_facts)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::NvidiaGpu;
using ogh::test::NvidiaHost;

namespace {

/** "12.5", "13.1+" where it may be newer; "-" if it is not known. */
std::string text_of(const std::optional<KnownVersion> &known)
{
    return known ? known->version.text() + (known->or_newer ? "+" : "") : "-";
}

std::string brands(std::string_view model)
{
    std::string text;
    for (const std::string_view brand : brands_of_model(model))
        (text += text.empty() ? "" : " ") += brand;
    return text;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_cuda_of_a_driver)
{
    BOOST_TEST(text_of(cuda_of_driver("390.157")) == "9.1");
    BOOST_TEST(text_of(cuda_of_driver("470.256.02")) == "11.4");
    BOOST_TEST(text_of(cuda_of_driver("555.42.07")) == "12.5");
    BOOST_TEST(text_of(cuda_of_driver("580.65.06")) == "13.0");
    BOOST_TEST(text_of(cuda_of_driver("590.44")) == "13.1");
    BOOST_TEST(text_of(cuda_of_driver("540.3.0")) == "12.2+"); // Jetson's
    BOOST_TEST(text_of(cuda_of_driver("700.1")) == "13.1+");
    for (const char *version : {"340.108", "", "x", "-1", "99999999999"})
        BOOST_TEST(text_of(cuda_of_driver(version)) == "-", version);
}

BOOST_AUTO_TEST_CASE(the_architecture_of_a_chip)
{
    const std::vector<std::pair<unsigned, std::string>> known{
        {0x1b06, "6.1"}, {0x1db4, "7.0"}, {0x1eb8, "7.5"}, {0x2184, "7.5"},  {0x20b0, "8.0"},
        {0x2204, "8.6"}, {0x2330, "9.0"}, {0x2684, "8.9"}, {0x2901, "10.0"}, {0x2b85, "12.0"}};
    for (const auto &[id, arch] : known)
        BOOST_TEST(text_of(arch_of_device(id)) == arch, id);
    for (const unsigned id : {0U, 0x1fcU, 0x1380U, 0x22c2U, 0xffffU})
        BOOST_TEST(text_of(arch_of_device(id)) == "-", id);
}

BOOST_AUTO_TEST_CASE(the_brands_of_a_name)
{
    BOOST_TEST(brands("NVIDIA GeForce RTX 3090") == "geforce geforcertx");
    BOOST_TEST(brands("GeForce GTX 1080") == "geforce geforcertx");
    BOOST_TEST(brands("Quadro RTX 6000") == "quadro quadrortx");
    BOOST_TEST(brands("NVIDIA TITAN RTX") == "titan titanrtx");
    BOOST_TEST(brands("NVIDIA RTX A6000") == "nvidiartx quadrortx");
    BOOST_TEST(brands("Tesla V100-SXM2-16GB") == "tesla nvidia");
    BOOST_TEST(brands("NVIDIA A100-SXM4-40GB") == "tesla nvidia");
    BOOST_TEST(brands("NVS 510") == "nvs");
    BOOST_TEST(brands("NVIDIA A40-8Q") == "grid vapps vpc vcs vws cloudgaming");
    BOOST_TEST(brands("GRID V100D-8Q") == "grid vapps vpc vcs vws cloudgaming");
    for (const char *model : {"", "Unknown", "Graphics Device"})
        BOOST_TEST(brands(model) == "", model);
}

BOOST_AUTO_TEST_CASE(what_a_host_says)
{
    const NvidiaHost host({NvidiaGpu::numbered("0000:5e:00.0", 0, "00"),
                           NvidiaGpu::numbered("0000:5f:00.0", 1, "01"),
                           NvidiaGpu::numbered("0000:60:00.0", 2, "02")});
    host.file("sys/bus/pci/devices/0000:5e:00.0/device", "0x2204\n");
    host.file("sys/bus/pci/devices/0000:60:00.0/device", "2204\n");
    const Sysroot sysroot(host.path());
    Notes notes;
    const Inventory inventory = read_inventory(sysroot, notes);
    const GpuFacts facts = read_gpu_facts(sysroot, inventory, 0);
    BOOST_TEST(facts.driver == "555.42.07");
    BOOST_TEST(text_of(facts.cuda) == "12.5");
    BOOST_TEST(text_of(facts.arch) == "8.6");
    BOOST_TEST((facts.brands == std::vector<std::string_view>{"tesla", "nvidia"}));
    BOOST_TEST(text_of(read_gpu_facts(sysroot, inventory, 1).arch) == "-");
    BOOST_TEST(text_of(read_gpu_facts(sysroot, inventory, 2).arch) == "-");
}

BOOST_AUTO_TEST_SUITE_END()
