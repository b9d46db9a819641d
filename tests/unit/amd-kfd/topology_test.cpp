// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include <boost/test/unit_test.hpp>

#include "amd-kfd/kfd_topology.h"
#include "support/amd_host.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(amd_kfd_topology)

using namespace ogh;
using namespace ogh::amd_kfd;
using ogh::test::AmdGpu;
using ogh::test::AmdHost;
using ogh::test::failure_of;
using State = ogh::amd_kfd::SysfsFile::State;

BOOST_AUTO_TEST_CASE(properties_of_a_current_kernel)
{
    KfdProperties expected;
    expected.simd_count = 168;
    expected.mem_banks_count = 1;
    expected.unique_id = 0x0BADC0DE12345678;
    expected.location_id = 3328;
    expected.gfx.number = 110000;
    expected.render_minor = 129;
    BOOST_TEST((parse_kfd_properties(AmdGpu().properties()) == expected));
    BOOST_TEST(expected.is_gpu());
    BOOST_TEST((parent_address(expected) == PciAddress{0, 0x0d, 0, 0}));
}

BOOST_AUTO_TEST_CASE(properties_of_an_old_kernel)
{
    AmdGpu gpu;
    gpu.gfx = 0;
    gpu.memory = 17163091968;
    const KfdProperties properties = parse_kfd_properties(gpu.properties());
    BOOST_TEST(properties.gfx.number == 0U);
    BOOST_TEST(properties.domain == 0U);
    BOOST_TEST(properties.local_mem_size == 17163091968U);
    BOOST_TEST(properties.render_minor.value() == 129U);
}

BOOST_AUTO_TEST_CASE(keys_in_any_order_beside_lines_that_are_none)
{
    const KfdProperties properties = parse_kfd_properties("unique_id 18446744073709551615\n"
                                                          "\n"
                                                          "capability2 7\n"
                                                          "simd_counts 9\n"
                                                          "simd_count -1\n"
                                                          "simd_count\n"
                                                          "domain  3\n"
                                                          "domain 0x3\n"
                                                          "location_id 18446744073709551616\n"
                                                          "simd_count 4");
    KfdProperties expected;
    expected.unique_id = UINT64_MAX;
    expected.simd_count = 4;
    BOOST_TEST((properties == expected));
    BOOST_TEST((parse_kfd_properties("") == KfdProperties()));
    BOOST_TEST((parse_kfd_properties("\n") == KfdProperties()));
}

BOOST_AUTO_TEST_CASE(a_render_minor_is_at_least_128)
{
    const auto minor_of = [](const std::string &text) {
        return parse_kfd_properties("drm_render_minor " + text + "\n").render_minor.value_or(0);
    };
    BOOST_TEST(minor_of("128") == 128U);
    BOOST_TEST(minor_of("400") == 400U);
    for (const char *text : {"0", "127", "1048576", "4294967424", "18446744073709551615", "x"})
        BOOST_TEST(minor_of(text) == 0U, text);
}

BOOST_AUTO_TEST_CASE(locations)
{
    KfdProperties properties;
    properties.location_id = 6913;
    properties.domain = 0x10001;
    BOOST_TEST(to_text(parent_address(properties)) == "10001:1b:00.0");
    BOOST_TEST(partition_number(properties) == 1U);
    properties.location_id = 0xFFFF;
    BOOST_TEST(to_text(parent_address(properties)) == "10001:ff:1f.0");
    BOOST_TEST(partition_number(properties) == 7U);
}

BOOST_AUTO_TEST_CASE(hidden_nodes_are_counted)
{
    KfdTopology topology;
    add_node(topology, "0", {State::Read, "cpu_cores_count 48\nsimd_count 0"});
    add_node(topology, "1", {State::Hidden});
    add_node(topology, "2", {State::Read, AmdGpu().properties()});
    add_node(topology, "3", {State::Missing});
    add_node(topology, "4", {State::Hidden});
    BOOST_TEST(topology.hidden == 2U);
    BOOST_REQUIRE(topology.gpus.size() == 1U);
    BOOST_TEST(topology.gpus[0].name == "2");
    BOOST_TEST(topology.gpus[0].properties.simd_count == 168U);
}

BOOST_AUTO_TEST_CASE(errors_that_say_hidden_or_gone)
{
    BOOST_TEST((state_of_error(EPERM) == State::Hidden));
    BOOST_TEST((state_of_error(EACCES) == State::Hidden));
    BOOST_TEST((state_of_error(ENOENT) == State::Missing));
    BOOST_TEST((state_of_error(ENODEV) == State::Missing));
    for (const int error : {EIO, ENOTDIR, EISDIR, ELOOP})
        BOOST_TEST(!state_of_error(error).has_value(), error);
}

BOOST_AUTO_TEST_CASE(files_of_sysfs)
{
    const AmdHost host;
    const UniqueFd directory(::open(host.path().c_str(), O_PATH | O_CLOEXEC));
    const auto read = [&](const char *name) {
        return read_sysfs_file(directory.get(), name, "/the directory");
    };
    host.file("text", "one\ntwo\n");
    BOOST_TEST((read("text") == SysfsFile{State::Read, "one\ntwo"}));
    host.file("empty");
    BOOST_TEST((read("empty") == SysfsFile{State::Read, ""}));
    BOOST_TEST((read("none") == SysfsFile{State::Missing}));
    BOOST_REQUIRE(::mkfifo(host.path("fifo").c_str(), 0600) == 0);
    BOOST_TEST((read("fifo") == SysfsFile{State::Read, ""}));
    host.directory("directory");
    host.link("link", "text");
    host.file("large", std::string(8192, 'x'));
    for (const char *name : {"directory", "link", "large", "text/below"}) {
        const auto failure = failure_of([&] { read(name); });
        BOOST_TEST((failure.kind == ErrorKind::BrokenHost), name);
        BOOST_TEST(failure.says("'/the directory/" + std::string(name) + "'"), failure.message);
    }
}

BOOST_AUTO_TEST_CASE(device_numbers)
{
    const AmdHost host;
    const UniqueFd directory(::open(host.path().c_str(), O_PATH | O_CLOEXEC));
    const auto read = [&] { return read_device_number(directory.get(), "dev", "/the directory"); };
    BOOST_TEST(!read().has_value());
    host.file("dev", "226:129\n");
    BOOST_TEST((read() == DeviceNumber{226, 129}));
    for (const char *text : {"226", "", "226:x\n", "226:-1\n", "4096:0\n", "226:1048576\n", "x:0\n"}) {
        host.file("dev", text);
        const auto failure = failure_of([&] { static_cast<void>(read()); });
        BOOST_TEST((failure.kind == ErrorKind::BrokenHost), text);
        BOOST_TEST(failure.message == "'/the directory/dev' has no device number", failure.message);
    }
}

BOOST_AUTO_TEST_CASE(memory_is_the_heaps_that_are_its_own)
{
    const AmdHost host({AmdGpu()});
    const std::string banks = AmdHost::node_directory(1) + "/mem_banks/";
    const auto memory = [&](std::uint64_t count, std::uint64_t local = 0) {
        KfdProperties properties;
        properties.mem_banks_count = count;
        properties.local_mem_size = local;
        return KfdClass(Sysroot(host.path())).memory("1", properties).value_or(1);
    };
    BOOST_TEST(memory(1) == std::uint64_t{20464} << 20U);
    BOOST_TEST(memory(0) == 1U);
    BOOST_TEST(memory(0, 77) == 77U);
    host.file(banks + "0/properties", "heap_type 1\nsize_in_bytes 4096\n");
    host.file(banks + "1/properties", "size_in_bytes 1000\nheap_type 2\n");
    host.file(banks + "2/properties", "heap_type 0\nsize_in_bytes 10\n");
    host.file(banks + "3/properties", "heap_type 12\nsize_in_bytes 10\n");
    BOOST_TEST(memory(5, 77) == 5096U);
    BOOST_TEST(memory(UINT64_MAX) == 5096U);
}

BOOST_AUTO_TEST_SUITE_END()
