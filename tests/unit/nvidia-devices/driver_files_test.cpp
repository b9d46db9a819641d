// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>

#include <boost/test/unit_test.hpp>

#include "base/unique_fd.h"
#include "support/driver_host.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_driver_files)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::DriverHost;
using ogh::test::library_image;
using ogh::test::Names;

namespace {

const std::string version = DriverHost::version;

struct Host : DriverHost {
    /** With all libraries, so that nothing that is needed is missing. */
    Host() { all_libraries(); }

    Names tree_paths(CapabilityBits asked)
    {
        Names names;
        for (const DriverFile &each : files(asked))
            names.push_back(each.tree_path);
        return names;
    }

    void socket(const std::string &name) const
    {
        directory(name.substr(0, name.rfind('/')));
        const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        BOOST_REQUIRE(path(name).size() < sizeof address.sun_path);
        path(name).copy(std::begin(address.sun_path), sizeof address.sun_path - 1);
        BOOST_REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0);
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(programs)
{
    Host host;
    host.program("usr/bin/nvidia-smi");
    host.program("opt/bin/nvidia-smi");
    host.file("usr/bin/nvidia-debugdump", "not to be executed");
    host.program("usr/local/sbin/nvidia-debugdump");
    host.directory("usr/bin/nvidia-imex");
    host.file("sbin", "no directory");
    host.directory("run/current-system/sw");
    host.program("nix/store/0a1b/bin/nvidia-persistenced");
    host.link("run/current-system/sw/bin", "/nix/store/0a1b/bin");
    host.link("usr/bin/nv-fabricmanager", "/nowhere");
    host.program("usr/bin/nvidia-cuda-mps-control");
    host.program("usr/bin/nvidia-cuda-mps-server");
    host.program("usr/bin/nvidia-xconfig");
    host.program("usr/bin/nvidia-modprobe");
    const auto found = host.files({Capability::Utility});
    const std::vector<DriverFile> expected{
        {host.path("usr/bin/nvidia-smi"), "bin/nvidia-smi", "/usr/bin/nvidia-smi"},
        {host.path("usr/local/sbin/nvidia-debugdump"), "bin/nvidia-debugdump", "/usr/bin/nvidia-debugdump"},
        {host.path("nix/store/0a1b/bin/nvidia-persistenced"), "bin/nvidia-persistenced",
         "/usr/bin/nvidia-persistenced"}};
    BOOST_TEST((found == expected));
    const Names mps{"bin/nvidia-cuda-mps-control", "bin/nvidia-cuda-mps-server"};
    BOOST_TEST(host.tree_paths({Capability::Compute}) == mps, boost::test_tools::per_element());
    BOOST_TEST(host.tree_paths({Capability::Video}).empty());
    BOOST_TEST(host.tree_paths({Capability::Graphics}).empty());
    BOOST_TEST(host.tree_paths({Capability::Display}) == Names{"bin/nvidia-xconfig"},
               boost::test_tools::per_element());
    for (const char *name : {"nv-fabricmanager", "nvidia-imex-ctl"})
        host.program("usr/sbin/" + std::string(name));
    host.program("usr/sbin/nvidia-imex");
    BOOST_TEST(host.tree_paths({Capability::Utility}) ==
                   (Names{"bin/nvidia-smi", "bin/nvidia-debugdump", "bin/nvidia-persistenced",
                          "bin/nv-fabricmanager", "bin/nvidia-imex", "bin/nvidia-imex-ctl"}),
               boost::test_tools::per_element());
}

/** As an administrator puts it into PATH: what it calls is not in the container, or is the script itself. */
BOOST_AUTO_TEST_CASE(a_script_is_no_program_of_the_drivers)
{
    Host host;
    host.file("usr/bin/nvidia-smi", "#!/bin/sh\nexec /usr/local/nvidia/bin/nvidia-smi \"$@\"\n");
    BOOST_REQUIRE(::chmod(host.path("usr/bin/nvidia-smi").c_str(), 0755) == 0);
    BOOST_TEST(host.files({Capability::Utility}).empty());
    host.program("usr/local/nvidia/bin/nvidia-smi");
    const std::vector<DriverFile> expected{
        {host.path("usr/local/nvidia/bin/nvidia-smi"), "bin/nvidia-smi", "/usr/bin/nvidia-smi"}};
    BOOST_TEST((host.files({Capability::Utility}) == expected));
}

/** Which would print nothing, with success. */
BOOST_AUTO_TEST_CASE(a_program_that_is_of_no_use_is_left_out_with_a_warning)
{
    Host host;
    const std::string whole = library_image("").bytes();
    const std::vector<std::pair<std::string, std::string>> cases{
        {"", "it is empty"},
        {whole.substr(0, whole.size() / 2), "it is cut short"},
        {"a text", "it is no ELF file"},
    };
    for (const auto &[bytes, why] : cases) {
        host.file("usr/bin/nvidia-smi", bytes);
        BOOST_REQUIRE(::chmod(host.path("usr/bin/nvidia-smi").c_str(), 0755) == 0);
        BOOST_TEST(host.files({Capability::Utility}).empty());
        BOOST_REQUIRE(host.notes.size() == 1U);
        BOOST_TEST((host.notes[0].level == LogLevel::Warning));
        BOOST_TEST(host.notes[0].text == "'" + host.path("usr/bin/nvidia-smi") + "' is left out: " + why);
    }
    host.file("usr/bin/nvidia-smi", whole);
    BOOST_REQUIRE(::chmod(host.path("usr/bin/nvidia-smi").c_str(), 0644) == 0);
    BOOST_TEST(host.files({Capability::Utility}).empty());
    BOOST_TEST(host.notes.at(0).text ==
               "'" + host.path("usr/bin/nvidia-smi") + "' is left out: nobody may execute it");
    host.program("usr/local/bin/nvidia-smi");
    BOOST_TEST(host.files({Capability::Utility}).size() == 1U);
    BOOST_TEST(host.notes.empty());
}

BOOST_AUTO_TEST_CASE(configuration)
{
    Host host;
    host.file("etc/OpenCL/vendors/nvidia.icd");
    host.file("usr/share/vulkan/icd.d/nvidia_icd.json");
    host.file("usr/local/share/vulkan/icd.d/nvidia_icd.json");
    host.file("usr/share/vulkan/icd.d/nvidia_icd.x86_64.json");
    host.directory("etc/vulkan/icd.d/nvidia_icd.aarch64.json");
    host.file("vulkan/implicit_layer.d/nvidia_layers.json");
    host.file("usr/share/glvnd/egl_vendor.d/10_nvidia.json");
    for (const char *name :
         {"09_nvidia_wayland2", "10_nvidia_wayland", "15_nvidia_gbm", "20_nvidia_xcb", "20_nvidia_xlib"})
        host.file("usr/share/egl/egl_external_platform.d/" + std::string(name) + ".json");
    host.file("usr/share/nvidia/nvoptix.bin");
    host.file("usr/share/X11/xorg.conf.d/10-nvidia.conf"); // nothing of the X server's
    const auto opencl = host.files({Capability::Compute});
    BOOST_TEST((opencl == std::vector<DriverFile>{{host.path("etc/OpenCL/vendors/nvidia.icd"),
                                                   "share/OpenCL/vendors/nvidia.icd",
                                                   "/etc/OpenCL/vendors/nvidia.icd"}}));
    BOOST_TEST((host.files({Capability::Video}) == opencl));
    const auto share = [&](const std::string &found, const std::string &base, const std::string &name) {
        return DriverFile{host.path(found + name), "share/" + name, base + name};
    };
    const std::string egl = "egl/egl_external_platform.d/";
    const std::vector<DriverFile> expected{
        share("usr/local/share/", "/etc/", "vulkan/icd.d/nvidia_icd.json"),
        share("usr/share/", "/etc/", "vulkan/icd.d/nvidia_icd.x86_64.json"),
        share("", "/etc/", "vulkan/implicit_layer.d/nvidia_layers.json"),
        share("usr/share/", "/usr/share/", "glvnd/egl_vendor.d/10_nvidia.json"),
        share("usr/share/", "/usr/share/", egl + "09_nvidia_wayland2.json"),
        share("usr/share/", "/usr/share/", egl + "10_nvidia_wayland.json"),
        share("usr/share/", "/usr/share/", egl + "15_nvidia_gbm.json"),
        share("usr/share/", "/usr/share/", egl + "20_nvidia_xcb.json"),
        share("usr/share/", "/usr/share/", egl + "20_nvidia_xlib.json"),
        share("usr/share/", "/usr/share/", "nvidia/nvoptix.bin")};
    BOOST_TEST((host.files({Capability::Graphics}) == expected));
    BOOST_TEST((host.files({Capability::Display}) == expected));
    BOOST_TEST(host.files({Capability::Utility}).empty());
}

/** As some virtual machines have it, with a cache that names its libraries. */
BOOST_AUTO_TEST_CASE(configuration_of_a_driver_that_is_one_image)
{
    Host host;
    const std::string icd = "vulkan/icd.d/nvidia_icd.json";
    const std::string egl = "glvnd/egl_vendor.d/10_nvidia.json";
    host.file("usr/local/nvidia/" + icd);
    host.file("usr/local/nvidia/share/" + egl);
    BOOST_TEST((host.files({Capability::Graphics}) ==
                std::vector<DriverFile>{
                    {host.path("usr/local/nvidia/" + icd), "share/" + icd, "/etc/" + icd},
                    {host.path("usr/local/nvidia/share/" + egl), "share/" + egl, "/usr/share/" + egl}}));
    host.file("usr/local/nvidia/share/" + icd); // as the programs of such a machine are told
    BOOST_TEST(host.files({Capability::Graphics}).front().host_path ==
               host.path("usr/local/nvidia/share/" + icd));
}

BOOST_AUTO_TEST_CASE(application_profiles_of_this_version)
{
    Host host;
    const std::string name = "nvidia/nvidia-application-profiles-" + version + "-rc";
    host.file("usr/share/" + name);
    host.file("usr/share/nvidia/nvidia-application-profiles-560.10.01-rc");
    const std::vector<DriverFile> expected{
        {host.path("usr/share/" + name), "share/" + name, "/usr/share/" + name}};
    for (const Capability each :
         {Capability::Compute, Capability::Video, Capability::Graphics, Capability::Display})
        BOOST_TEST((host.files({each}) == expected));
    for (const Capability each : {Capability::Utility, Capability::Ngx})
        BOOST_TEST(host.files({each}).empty());
}

BOOST_AUTO_TEST_CASE(sockets_and_the_directory_of_mps)
{
    Host host;
    host.socket("run/nvidia-persistenced/socket");
    host.file("run/nvidia-fabricmanager/socket", "no socket");
    DriverFile persistenced{host.path("run/nvidia-persistenced/socket"), "run/nvidia-persistenced/socket",
                            "/run/nvidia-persistenced/socket", Kind::Socket, false};
    BOOST_TEST((host.files({Capability::Utility}) == std::vector{persistenced}));
    std::filesystem::remove(host.path("run/nvidia-fabricmanager/socket"));
    host.socket("var/run/nvidia-fabricmanager/socket");
    DriverFile manager{host.path("var/run/nvidia-fabricmanager/socket"), "run/nvidia-fabricmanager/socket",
                       "/run/nvidia-fabricmanager/socket", Kind::Socket, false};
    BOOST_TEST((host.files({Capability::Utility}) == std::vector{persistenced, manager}));

    host.directory("etc");
    host.directory("tmp");
    host.link("tmp/nvidia-mps", "/etc"); // anyone may have put it there
    BOOST_TEST(host.files({Capability::Compute}).empty());
    std::filesystem::remove(host.path("tmp/nvidia-mps"));
    host.file("tmp/nvidia-mps");
    BOOST_TEST(host.files({Capability::Compute}).empty());
    std::filesystem::remove(host.path("tmp/nvidia-mps"));
    host.directory("tmp/nvidia-mps"); // or a directory, where no daemon is
    BOOST_TEST(host.files({Capability::Compute}).empty());
    host.file("tmp/nvidia-mps/control");
    BOOST_TEST(host.files({Capability::Compute}).empty());
    std::filesystem::remove(host.path("tmp/nvidia-mps/control"));
    BOOST_REQUIRE(::mkfifo(host.path("tmp/nvidia-mps/control").c_str(), 0666) == 0);
    DriverFile mps{host.path("tmp/nvidia-mps"), "run/nvidia-mps", "/tmp/nvidia-mps", Kind::Directory, false};
    BOOST_TEST((host.files({Capability::Compute}) == std::vector{mps}));
    if (::chown(mps.host_path.c_str(), 1000, 1000) == 0) { // somebody else's
        BOOST_TEST(host.files({Capability::Compute}).empty());
        BOOST_REQUIRE(::chown(mps.host_path.c_str(), ::geteuid(), ::getegid()) == 0);
    }
    BOOST_TEST((host.files({Capability::Video}) == std::vector{mps}));
    BOOST_TEST(host.files({Capability::Graphics}).empty());
}

BOOST_AUTO_TEST_CASE(firmware)
{
    Host host;
    const auto check = [&](const std::string &directory, const Names &names) {
        std::vector<DriverFile> expected;
        for (const std::string &name : names) {
            const std::string below = "firmware/nvidia/" + version + "/" + name;
            expected.push_back({host.path(directory + "/nvidia/" + version + "/" + name), "share/" + below,
                                "/lib/" + below});
        }
        BOOST_TEST((host.files({Capability::Utility}) == expected), directory);
    };
    const auto put = [&](const std::string &directory) {
        host.file(directory + "/nvidia/" + version + "/gsp_tu10x.bin");
    };
    utsname kernel{};
    BOOST_REQUIRE(::uname(&kernel) == 0);
    host.directory("usr/lib/firmware");
    host.link("lib", "usr/lib");
    check("", {});
    const std::string ours = "usr/lib/firmware/nvidia/" + version;
    host.file(ours + "/gsp_ga10x.bin");
    put("usr/lib/firmware");
    host.directory(ours + "/gsp_directory.bin");
    host.file(ours + "/gsp odd.bin");
    host.file(ours + "/gsp_ga10x.bin.xz");
    host.file(ours + "/other.bin");
    host.file("usr/lib/firmware/nvidia/560.10.01/gsp_ga10x.bin");
    check("usr/lib/firmware", {"gsp_ga10x.bin", "gsp_tu10x.bin"});
    const std::string custom = "sys/module/firmware_class/parameters/path";
    host.file(custom, "\n");
    check("usr/lib/firmware", {"gsp_ga10x.bin", "gsp_tu10x.bin"});
    host.file(custom, "/srv/firmware\n");
    check("usr/lib/firmware", {"gsp_ga10x.bin", "gsp_tu10x.bin"});
    for (const std::string &directory :
         {"usr/lib/firmware/" + std::string(std::begin(kernel.release)),
          std::string("usr/lib/firmware/updates"),
          "usr/lib/firmware/updates/" + std::string(std::begin(kernel.release)),
          std::string("srv/firmware")}) {
        put(directory); // each is found before the one before it
        check(directory, {"gsp_tu10x.bin"});
    }
    host.file(custom, "usr/lib/firmware\n"); // not absolute
    check("usr/lib/firmware/updates/" + std::string(std::begin(kernel.release)), {"gsp_tu10x.bin"});
    BOOST_TEST(host.files({Capability::Compute}).empty());
}

/** The kernel is told of a directory of the host; a driver alone has another one, as on GKE. */
BOOST_AUTO_TEST_CASE(firmware_of_a_driver_with_a_root_of_its_own)
{
    DriverHost host;
    host.library("run/driver/usr/lib64", "libnvidia-ml");
    const std::string name = "/nvidia/" + version + "/gsp_ga10x.bin";
    const auto found = [&] {
        const auto files = host.read(ogh::test::named({Capability::Utility}), true, "run/driver").files;
        return files.empty() ? "" : files.front().host_path.substr(host.path().size());
    };
    host.file("lib/firmware" + name); // of another driver of the host's, perhaps
    BOOST_TEST(found() == "");
    host.file("run/driver/firmware" + name);
    BOOST_TEST(found() == "/run/driver/firmware" + name);
    host.file("run/driver/lib/firmware" + name);
    BOOST_TEST(found() == "/run/driver/lib/firmware" + name);
    host.file("run/driver/sys/module/firmware_class/parameters/path", "/firmware\n"); // no kernel has it
    BOOST_TEST(found() == "/run/driver/lib/firmware" + name);
    host.file("sys/module/firmware_class/parameters/path", "/run/driver/own\n");
    host.file("run/driver/own" + name);
    BOOST_TEST(found() == "/run/driver/own" + name);
}

BOOST_AUTO_TEST_SUITE_END()
