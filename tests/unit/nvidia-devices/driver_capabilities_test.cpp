// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/driver/library_table.h"
#include "support/driver_host.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_driver_capabilities)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::all_capabilities;
using ogh::test::DriverHost;
using ogh::test::elsewhere;
using ogh::test::Failure;
using ogh::test::failure_of;
using ogh::test::named;
using ogh::test::Names;
using ogh::test::sorted;
using ogh::test::versioned;

namespace {

Names operator+(Names one, const Names &other)
{
    one.insert(one.end(), other.begin(), other.end());
    return one;
}

/** As they stand in the lists of DriverHost, sorted. */
Names names_of(const std::vector<DriverLibrary> &libraries)
{
    Names names;
    for (const DriverLibrary &each : libraries) {
        const std::string end =
            each.file.ends_with(DriverHost::version) ? ".so." + DriverHost::version : ".1.2";
        names.push_back(each.file.substr(0, each.file.size() - end.size()));
    }
    return sorted(names);
}

} // namespace

BOOST_AUTO_TEST_CASE(libraries_of_each_capability)
{
    DriverHost host;
    host.all_libraries();
    const auto check = [&](CapabilityBits capabilities, const Names &expected) {
        BOOST_TEST(names_of(host.libraries(capabilities)) == sorted(expected),
                   boost::test_tools::per_element());
        BOOST_TEST(host.notes.empty());
    };
    check({Capability::Utility}, DriverHost::utility);
    check({Capability::Compute}, DriverHost::compute);
    check({Capability::Video}, DriverHost::compute + DriverHost::video);
    check({Capability::Graphics}, DriverHost::graphics + DriverHost::compute_and_graphics);
    check({Capability::Display}, DriverHost::graphics + DriverHost::compute_and_graphics);
    check({Capability::Ngx}, DriverHost::ngx);
    check({Capability::Gds, Capability::Mofed}, {});
    check({Capability::Compute, Capability::Utility}, DriverHost::compute + DriverHost::utility);
    BOOST_TEST(names_of(host.read(all_capabilities).libraries) ==
                   sorted(DriverHost::compute + DriverHost::utility + DriverHost::video +
                          DriverHost::graphics + DriverHost::ngx),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(table_of_libraries)
{
    std::set<std::string_view> names;
    std::set<std::string_view> stems; // each once, or in place of itself: else a file could be found twice
    for (const LibraryName &each : library_names()) {
        const std::string_view stem = each.name.substr(0, each.name.find(".so"));
        BOOST_TEST((stems.insert(stem).second || each.instead_of == stem), each.name);
        names.insert(each.name);
        BOOST_TEST(!each.brought_by.is_empty(), each.name);
        BOOST_TEST((each.instead_of.empty() || names.contains(each.instead_of)),
                   each.name); // which goes first
        BOOST_TEST((each.version == LibraryVersion::Own) ==
                   (each.name.find(".so.") != std::string_view::npos));
    }
    for (const CapabilityNeed &need : capability_needs()) {
        for (const std::string_view name : need.any_of)
            BOOST_TEST((name.empty() || names.contains(name)), name);
    }
}

BOOST_AUTO_TEST_CASE(what_a_capability_cannot_work_without)
{
    // One of two is enough; then none is left.
    const auto check = [](Capability capability, const Names &needed, const std::string &text) {
        DriverHost host;
        host.all_libraries();
        for (const std::string &name : needed) {
            BOOST_TEST((host.failure({capability}).kind == ErrorKind::None), name);
            std::filesystem::remove(host.path("usr/lib64/" + versioned(name)));
        }
        const Failure failure = host.failure({capability});
        BOOST_TEST((failure.kind == ErrorKind::BrokenHost));
        BOOST_TEST(failure.message == text + ", which this host does not have; searched: '" +
                                          host.path("usr/lib64") + "'" + elsewhere);
    };
    const Names gl{"libGLX_nvidia", "libEGL_nvidia"};
    const std::string gl_files = "'libGLX_nvidia.so.555.42.07' or 'libEGL_nvidia.so.555.42.07'";
    check(Capability::Compute, {"libcuda"}, "'compute' needs 'libcuda.so.555.42.07'");
    check(Capability::Utility, {"libnvidia-ml"}, "'utility' needs 'libnvidia-ml.so.555.42.07'");
    check(Capability::Video, {"libnvcuvid", "libnvidia-encode"},
          "'video' needs 'libnvcuvid.so.555.42.07' or 'libnvidia-encode.so.555.42.07'");
    check(Capability::Graphics, gl, "'graphics' needs " + gl_files);
    check(Capability::Display, gl, "'display' needs " + gl_files);
    check(Capability::Ngx, {"libnvidia-ngx"}, "'ngx' needs 'libnvidia-ngx.so.555.42.07'");
}

BOOST_AUTO_TEST_CASE(what_all_leaves_out)
{
    DriverHost host;
    for (const char *name : {"libcuda", "libnvidia-ml", "libnvidia-opticalflow", "libnvidia-glcore"})
        host.library("usr/lib64", name);
    host.program("usr/bin/nvidia-smi");
    host.program("usr/bin/nvidia-xconfig");
    host.file("usr/share/nvidia/nvoptix.bin");
    const DriverFiles found = host.read(all_capabilities);
    BOOST_TEST(names_of(found.libraries) == (Names{"libcuda", "libnvidia-ml"}),
               boost::test_tools::per_element());
    BOOST_TEST((found.files == std::vector<DriverFile>{{host.path("usr/bin/nvidia-smi"), "bin/nvidia-smi",
                                                        "/usr/bin/nvidia-smi"}}));
    Names texts;
    for (const Note &note : host.notes) {
        BOOST_TEST((note.level == LogLevel::Info));
        texts.push_back(note.text);
    }
    const std::string end = ", which this host does not have; it is left out";
    const std::string gl = " needs 'libGLX_nvidia.so.555.42.07' or 'libEGL_nvidia.so.555.42.07'" + end;
    BOOST_TEST(
        texts == (Names{"'video' needs 'libnvcuvid.so.555.42.07' or 'libnvidia-encode.so.555.42.07'" + end,
                        "'graphics'" + gl, "'display'" + gl, "'ngx' needs 'libnvidia-ngx.so.555.42.07'" + end,
                        "'compat32' needs 32-bit libraries of the driver" + end}),
        boost::test_tools::per_element());
    // Named beside `all` it must be given.
    const Capabilities both{{Capability::Graphics}, true};
    BOOST_TEST((failure_of([&] { static_cast<void>(host.read(both)); }).kind == ErrorKind::BrokenHost));
}

BOOST_AUTO_TEST_CASE(all_is_not_nothing)
{
    DriverHost host;
    const auto failure = [&] { return failure_of([&] { static_cast<void>(host.read(all_capabilities)); }); };
    const std::string nothing = "'all' finds nothing: this host has no library of the driver, such as "
                                "'libcuda.so.555.42.07'; searched: ";
    BOOST_TEST((failure().kind == ErrorKind::BrokenHost));
    BOOST_TEST(failure().message.starts_with(nothing), failure().message);
    host.library("usr/lib64", "libnvidia-glcore");
    host.library("usr/lib32", "libcuda", true);
    BOOST_TEST(failure().message.starts_with(nothing), failure().message);
    BOOST_TEST(host.read(all_capabilities, false).libraries.empty());
}

/** As after an unattended upgrade: one that is there for another kernel module is not missing. */
BOOST_AUTO_TEST_CASE(all_leaves_out_nothing_of_another_version)
{
    for (const bool has_others : {false, true}) {
        DriverHost host;
        host.library("usr/lib64", "libnvidia-ml", false, "560.10.01");
        if (has_others)
            host.library("usr/lib64", "libcuda");
        const Failure failure = failure_of([&] { static_cast<void>(host.read(all_capabilities)); });
        BOOST_TEST((failure.kind == ErrorKind::BrokenHost));
        BOOST_TEST(failure.says("'utility' needs 'libnvidia-ml.so.555.42.07'"), failure.message);
        BOOST_TEST(failure.says("there is 'libnvidia-ml.so.560.10.01'"), failure.message);
        BOOST_TEST(host.read(all_capabilities, false).libraries.size() == (has_others ? 1U : 0U));
    }
}

BOOST_AUTO_TEST_CASE(nothing_is_required_where_there_is_no_gpu)
{
    DriverHost host;
    host.library("usr/lib64", "libnvidia-nvvm");
    host.library("usr/lib32", "libnvidia-nvvm", true);
    const auto list = named({Capability::Compute, Capability::Graphics, Capability::Compat32});
    BOOST_TEST(host.read(list, false).libraries.size() == 2U);
    BOOST_REQUIRE(host.notes.size() == 2U);
    BOOST_TEST((host.notes.front().level == LogLevel::Info));
    BOOST_TEST(host.notes.front().text ==
               "'compute' needs 'libcuda.so.555.42.07', which this host does not have");
    BOOST_TEST(host.read(named({Capability::Compat32}), false).libraries.empty());
    BOOST_TEST(host.read(named({})).libraries.empty());
}

BOOST_AUTO_TEST_SUITE_END()
