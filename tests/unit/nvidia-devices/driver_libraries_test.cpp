// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "support/driver_host.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_driver_libraries)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::DriverHost;
using ogh::test::elsewhere;
using ogh::test::failure_of;
using ogh::test::library_image;
using ogh::test::Names;
using ogh::test::triplet;
using ogh::test::versioned;

namespace {

const CapabilityBits libcuda{Capability::Compute}; // the one that it cannot work without

} // namespace

BOOST_AUTO_TEST_CASE(in_lib64_by_the_cache)
{
    DriverHost host;
    for (const char *name : {"libcuda", "libnvidia-ml", "libnvidia-nvvm"}) {
        host.library("usr/lib64", name);
        host.cached("/lib64/" + std::string(name) + ".so.1");
    }
    host.link("lib64", "usr/lib64");
    host.write_cache();
    const std::string directory = host.path("usr/lib64/");
    const std::vector<DriverLibrary> expected{
        {versioned("libnvidia-ml"), directory + versioned("libnvidia-ml"), "libnvidia-ml.so.1"},
        {versioned("libcuda"), directory + versioned("libcuda"), "libcuda.so.1"},
        {versioned("libnvidia-nvvm"), directory + versioned("libnvidia-nvvm"), "libnvidia-nvvm.so.1"}};
    BOOST_TEST((host.libraries({Capability::Compute, Capability::Utility}) == expected));
}

BOOST_AUTO_TEST_CASE(debians_alternatives)
{
    DriverHost host;
    host.debian_library("libcuda");
    host.debian_library("libnvidia-ml");
    host.library("usr/lib/" + triplet + "/nvidia/current",
                 "libnvidia-nvvm"); // the loader does not find it
    host.own_library("usr/lib/" + triplet, "libnvidia-egl-gbm.so.1", ".1.2");
    host.library("usr/lib/" + triplet + "/nvidia/current", "libGLX_nvidia");
    host.library("usr/lib/" + triplet + "/vdpau", "libvdpau_nvidia");
    host.library("usr/lib/" + triplet + "/nvidia/current", "libnvcuvid");
    const std::string directory = "/usr/lib/" + triplet + "/";
    const std::string current = directory + "nvidia/current/";
    const std::string compute = current + versioned("libcuda") + " " + current + versioned("libnvidia-nvvm");
    for (int round = 0; round < 2; ++round) { // first without a cache, then by it
        BOOST_TEST(host.places({Capability::Compute}) == compute);
        BOOST_TEST(host.places({Capability::Utility}) == current + versioned("libnvidia-ml"));
        BOOST_TEST(host.places({Capability::Graphics}) ==
                   current + versioned("libGLX_nvidia") + " " + directory + "libnvidia-egl-gbm.so.1.1.2");
        BOOST_TEST(host.places({Capability::Video}) == compute + " " + directory + "vdpau/" +
                                                           versioned("libvdpau_nvidia") + " " + current +
                                                           versioned("libnvcuvid"));
        host.cached(directory + "libnvidia-egl-gbm.so.1");
        host.cached(current + "libGLX_nvidia.so.0");
        host.cached(current + "libnvcuvid.so.1");
        host.write_cache();
    }
}

BOOST_AUTO_TEST_CASE(debians_older_drivers_without_a_cache)
{
    for (const char *flavour : {"tesla-470", "tesla", "legacy-390xx", "other-1"}) {
        DriverHost host;
        const std::string directory = "usr/lib/" + triplet + "/nvidia/" + flavour;
        host.library("usr/lib/" + triplet + "/nvidia/current", "libcuda", false, "550.10.01");
        host.library(directory, "libcuda");
        const bool is_known =
            std::string_view(flavour).find_first_of("-") != std::string::npos && flavour[0] != 'o';
        BOOST_TEST((host.failure(libcuda).kind == ErrorKind::None) == is_known, flavour);
        if (is_known)
            BOOST_TEST(host.places(libcuda) == "/" + directory + "/" + versioned("libcuda"));
    }
}

BOOST_AUTO_TEST_CASE(directories_without_a_cache)
{
    for (const std::string directory : {"usr/lib64", "usr/lib64/nvidia", "lib64", "usr/lib",
                                        "usr/local/glibc/usr/lib", "usr/lib/nvidia/tesla"}) {
        DriverHost host;
        host.library(directory, "libcuda");
        BOOST_TEST(host.places(libcuda) == "/" + directory + "/" + versioned("libcuda"));
        host.file("etc/ld.so.cache", "no cache"); // as good as none
        BOOST_TEST(host.places(libcuda) == "/" + directory + "/" + versioned("libcuda"));
        for (const char *name :
             {"libcurl.so.4", "libcudart.so.12", "libnvrtc.so.12", "libGL.so.1"}) // not the driver's
            host.cached("/usr/share/" + std::string(name));
        host.write_cache();
        BOOST_TEST(host.places(libcuda) == "/" + directory + "/" + versioned("libcuda"));
    }
}

BOOST_AUTO_TEST_CASE(nixos)
{
    DriverHost host;
    const std::string store = "nix/store/0a1b-nvidia-x11/lib";
    host.library(store, "libcuda");
    host.library(store, "libnvidia-opencl");
    host.directory("nix/store/2c3d-graphics-drivers/lib");
    for (const char *name : {"libcuda.so.1", "libcuda.so.555.42.07"}) // and none of libnvidia-opencl
        host.link("nix/store/2c3d-graphics-drivers/lib/" + std::string(name), "/" + store + "/" + name);
    host.directory("run");
    host.link("run/opengl-driver", "/nix/store/2c3d-graphics-drivers");
    BOOST_TEST(host.places({Capability::Compute}) ==
               "/" + store + "/" + versioned("libcuda") + " /" + store + "/" + versioned("libnvidia-opencl"));
}

BOOST_AUTO_TEST_CASE(in_two_directories)
{
    DriverHost host;
    host.library("usr/lib64", "libcuda");
    host.library("opt/driver/lib", "libnvidia-nvvm");
    host.cached("/usr/lib64/libcuda.so.1");
    host.cached("/opt/driver/lib/libnvidia-nvvm.so.1");
    host.write_cache();
    BOOST_TEST(host.places({Capability::Compute}) ==
               "/usr/lib64/" + versioned("libcuda") + " /opt/driver/lib/" + versioned("libnvidia-nvvm"));
}

/** A driver container's root, whose absolute links are meant for inside. */
BOOST_AUTO_TEST_CASE(below_a_root_of_its_own)
{
    DriverHost host;
    host.library("run/driver/usr/lib64", "libcuda");
    host.directory("run/driver/etc");
    host.link("run/driver/lib64", "/usr/lib64");
    const std::string found = "/run/driver/usr/lib64/" + versioned("libcuda");
    BOOST_TEST(host.places(libcuda, "run/driver") == found);
    host.cached("/lib64/libcuda.so.1");
    host.write_cache();
    std::filesystem::rename(host.path("etc/ld.so.cache"), host.path("run/driver/etc/cache"));
    host.link("run/driver/etc/ld.so.cache", "/etc/cache");
    BOOST_TEST(host.places(libcuda, "run/driver") == found);
}

BOOST_AUTO_TEST_CASE(no_link_leads_out_of_the_root)
{
    DriverHost host;
    host.library("outside", "libcuda");
    host.directory("root/usr/lib64");
    const std::string link = "root/usr/lib64/" + versioned("libcuda");
    for (const std::string &target :
         {host.path("outside/" + versioned("libcuda")), "../../../outside/" + versioned("libcuda")}) {
        std::filesystem::remove(host.path(link));
        host.link(link, target);
        BOOST_TEST((failure_of([&] { static_cast<void>(host.places(libcuda, "root")); }).kind ==
                    ErrorKind::BrokenHost));
    }
    host.library("root/outside", "libcuda"); // where "../../../outside" ends in a root
    std::filesystem::remove(host.path(link));
    host.link(link, "../../../outside/" + versioned("libcuda"));
    BOOST_TEST(host.places(libcuda, "root") == "/root/outside/" + versioned("libcuda"));
}

BOOST_AUTO_TEST_CASE(libraries_for_32_bits)
{
    DriverHost host;
    host.library("usr/lib64", "libcuda");
    host.library("usr/lib64", "libnvidia-ml");
    host.library("usr/lib32", "libcuda", true);
    const std::string both = "/usr/lib64/" + versioned("libcuda") + " /usr/lib32/" + versioned("libcuda");
    BOOST_TEST(host.places({Capability::Compute, Capability::Compat32}) == both);
    host.cached("/usr/lib64/libcuda.so.1");
    host.cached("/usr/lib32/libcuda.so.1", true);
    host.write_cache();
    BOOST_TEST(host.places({Capability::Compute, Capability::Compat32}) == both);
    const auto list = host.libraries({Capability::Compute, Capability::Compat32});
    BOOST_TEST((!list.at(0).is_32 && list.at(1).is_32));
    const auto failure = host.failure({Capability::Utility, Capability::Compat32});
    BOOST_TEST((failure.kind == ErrorKind::BrokenHost));
    BOOST_TEST(failure.message == "'compat32' needs 32-bit libraries of the driver, which this host does not "
                                  "have; searched: '" +
                                      host.path("usr/lib32") + "'" + elsewhere);
    const auto alone = host.failure({Capability::Compat32});
    BOOST_TEST((alone.kind == ErrorKind::Usage));
}

BOOST_AUTO_TEST_CASE(distributions_own_libraries_are_not_the_drivers_for_32_bits)
{
    DriverHost host;
    host.library("usr/lib64", "libGLX_nvidia");
    host.file("usr/lib32/libnvidia-egl-gbm.so.1", library_image("libnvidia-egl-gbm.so.1", true).bytes());
    BOOST_TEST(
        host.failure({Capability::Graphics, Capability::Compat32}).says("'compat32' needs 32-bit libraries"));
    host.library("usr/lib32", "libGLX_nvidia", true);
    BOOST_TEST(host.places({Capability::Graphics, Capability::Compat32}) ==
               "/usr/lib64/" + versioned("libGLX_nvidia") + " /usr/lib32/" + versioned("libGLX_nvidia") +
                   " /usr/lib32/libnvidia-egl-gbm.so.1");
}

BOOST_AUTO_TEST_CASE(nvvm_of_470)
{
    DriverHost host;
    host.library("usr/lib64", "libcuda");
    host.own_library("usr/lib64", "libnvidia-nvvm.so.4", ".0.0");
    const std::string cuda = "/usr/lib64/" + versioned("libcuda");
    BOOST_TEST(host.places({Capability::Compute}) == cuda + " /usr/lib64/libnvidia-nvvm.so.4.0.0");
    host.library("usr/lib64", "libnvidia-nvvm"); // as since then
    BOOST_TEST(host.places({Capability::Compute}) == cuda + " /usr/lib64/" + versioned("libnvidia-nvvm"));
}

/** Whatever version it has, and whether or not a table knows it. */
BOOST_AUTO_TEST_CASE(libraries_that_a_file_names)
{
    DriverHost host;
    host.library("usr/lib64", "libGLX_nvidia");
    host.own_library("usr/lib64", "libnvidia-new.so.1", ".2.3");
    host.library("usr/lib64", "libnvidia-layer");
    host.library("usr/lib64", "libnvidia-ml");
    host.file(
        "usr/share/vulkan/implicit_layer.d/nvidia_layers.json",
        R"({"layers": [{"library_path": "/usr/lib64/libnvidia-new.so.1"}, {"library_path": "libGLX_nvidia.so.0"}]})");
    BOOST_TEST(host.places({Capability::Graphics}) == "/usr/lib64/" + versioned("libGLX_nvidia") +
                                                          " /usr/lib64/" + versioned("libnvidia-layer") +
                                                          " /usr/lib64/libnvidia-new.so.1.2.3");
    BOOST_TEST(host.places({Capability::Utility}).find("libnvidia-new") == std::string::npos);
}

/** Of a driver that is newer than the tables. */
BOOST_AUTO_TEST_CASE(libraries_that_no_table_names)
{
    DriverHost host;
    for (const char *name : {"libcuda", "libnvidia-ml", "libnvidia-future", "libnvidia-able"})
        host.library("usr/lib64", name);
    host.library("usr/lib64/vdpau", "libvdpau_nvidia");
    host.library("usr/lib64/vdpau", "libvdpau_future");
    host.library("usr/lib64/vdpau", "libnvidia-future"); // once is enough
    host.library("usr/lib64", "libnvidia-glcore");       // in a table, and of another capability
    host.library("usr/lib64", "libnvidia-old", false, "550.10.01");
    host.library("usr/lib64", "nvidia-plugin");
    host.library("usr/lib64/other", "libnvidia-elsewhere");
    host.file("usr/lib64/" + versioned("libnvidia-text"), "no library");
    host.directory("usr/lib64/" + versioned("libnvidia-directory"));
    host.file("usr/lib64/" + versioned("libnvidia-32"), library_image("libnvidia-32.so.1", true).bytes());
    host.link("usr/lib64/" + versioned("libnvidia-link"), versioned("libcuda"));
    host.file("usr/lib64/" + versioned("libcuda-old"), library_image("libcuda.so.1").bytes());
    const std::string expected = "/usr/lib64/" + versioned("libcuda") + " /usr/lib64/" +
                                 versioned("libnvidia-able") + " /usr/lib64/" + versioned("libnvidia-future");
    BOOST_TEST(host.places({Capability::Compute}) == expected);
    BOOST_REQUIRE(host.notes.size() == 2U);
    BOOST_TEST((host.notes[1].level == LogLevel::Info));
    BOOST_TEST(host.notes[1].text ==
               "'" + host.path("usr/lib64/" + versioned("libnvidia-future")) +
                   "' is not known here; it goes with each capability, as part of this driver");
    BOOST_TEST(host.places({Capability::Utility}) == "/usr/lib64/" + versioned("libnvidia-ml") +
                                                         " /usr/lib64/" + versioned("libnvidia-able") +
                                                         " /usr/lib64/" + versioned("libnvidia-future"));
    host.library("usr/lib64", "libnvcuvid");
    const auto video = host.places({Capability::Video});
    BOOST_TEST(video.ends_with("/usr/lib64/vdpau/" + versioned("libvdpau_future")), video);
    host.library("usr/lib32", "libcuda", true);
    host.library("usr/lib32", "libnvidia-future", true);
    BOOST_TEST(host.places({Capability::Compute, Capability::Compat32}) ==
               expected + " /usr/lib32/" + versioned("libcuda") + " /usr/lib32/" +
                   versioned("libnvidia-future"));
}

BOOST_AUTO_TEST_CASE(drivers_from_before_libglvnd)
{
    DriverHost host;
    const Names old{"libGL", "libEGL", "libGLESv2", "libGLESv1_CM"};
    for (const std::string &name : old)
        host.library("usr/lib64", name);
    const auto place = [](const std::string &name) { return "/usr/lib64/" + versioned(name); };
    BOOST_TEST(host.places({Capability::Graphics}) == place("libGL") + " " + place("libEGL") + " " +
                                                          place("libGLESv2") + " " + place("libGLESv1_CM"));
    host.library("usr/lib64", "libcuda");
    BOOST_TEST(host.places({Capability::Compute}) == place("libcuda"));
    // With libglvnd's vendor libraries these would hide its own.
    host.library("usr/lib64", "libGLX_nvidia");
    host.library("usr/lib64", "libEGL_nvidia");
    BOOST_TEST(host.places({Capability::Graphics}) == place("libGLX_nvidia") + " " + place("libEGL_nvidia") +
                                                          " " + place("libGLESv2") + " " +
                                                          place("libGLESv1_CM"));
}

/** libglvnd's own libGL is not the driver's of another version. */
BOOST_AUTO_TEST_CASE(libglvnd_is_no_driver)
{
    DriverHost host;
    host.library("usr/lib64", "libcuda");
    host.own_library("usr/lib64", "libGL.so.1", ".7.0");
    host.cached("/usr/lib64/libcuda.so.1");
    host.cached("/usr/lib64/libGL.so.1");
    host.write_cache();
    BOOST_TEST(
        host.failure({Capability::Graphics}).message ==
        "'graphics' needs 'libGLX_nvidia.so.555.42.07' or 'libEGL_nvidia.so.555.42.07', which this host "
        "does not have; searched: '" +
            host.path("usr/lib64") +
            "'; if the driver's files are elsewhere on this host, name the directory by --driver-root");
}

BOOST_AUTO_TEST_SUITE_END()
