// SPDX-License-Identifier: Apache-2.0
#include <elf.h>

#include <boost/test/unit_test.hpp>

#include "host/sysroot.h"
#include "loader/ld_cache_format.h"
#include "nvidia-devices/driver/driver_root.h"
#include "nvidia-devices/driver/library_search.h"
#include "support/elf_image.h"
#include "support/ld_cache_image.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_library_machine)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::CacheImage;
using ogh::test::ElfImage;
using ogh::test::TempDirectory;

namespace {

const std::string version = "555.42.07";
const std::string library_file = "libcuda.so." + version;

/** A host's root with libraries of whatever machine, on whatever machine this test runs. */
struct AnyHost : TempDirectory {
    void add(const std::string &directory, std::uint16_t machine, bool is_64 = true) const
    {
        ElfImage image;
        image.machine = machine;
        image.is_64 = is_64;
        image.soname = "libcuda.so.1";
        file(directory + "/" + library_file, image.bytes());
        std::filesystem::remove(path(directory + "/libcuda.so.1"));
        link(directory + "/libcuda.so.1", library_file);
    }

    /** The directory where a host of that machine finds its library; "" if it finds none. */
    [[nodiscard]] std::string found(const LibraryMachine &machine) const
    {
        const Sysroot root(path(""));
        Notes notes;
        const auto cache = read_library_cache(root, notes);
        LibrarySearch search(root, cache, machine, version);
        const auto library = search.find({"libcuda", {}});
        if (!library)
            return "";
        const std::string below = library->host_path.substr(path("").size());
        return below.substr(0, below.rfind('/'));
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(each_machine_has_its_own)
{
    const DriverMachines &arm = driver_machines(EM_AARCH64);
    BOOST_TEST(arm.native.elf_machine == EM_AARCH64);
    BOOST_TEST(arm.native.is_64);
    BOOST_TEST(arm.native.cache_flags == 0x0A00); // glibc's FLAG_AARCH64_LIB64
    BOOST_TEST(arm.native.triplet == "aarch64-linux-gnu");
    BOOST_TEST(arm.compat32.elf_machine == EM_ARM);
    BOOST_TEST(arm.compat32.cache_flags == 0x0900); // FLAG_ARM_LIBHF
    const DriverMachines &x86 = driver_machines(EM_X86_64);
    BOOST_TEST(x86.native.elf_machine == EM_X86_64);
    BOOST_TEST(x86.native.cache_flags == 0x0300); // FLAG_X8664_LIB64
    BOOST_TEST(x86.compat32.elf_machine == EM_386);
    BOOST_TEST(driver_machines(EM_S390).native.elf_machine == EM_NONE);
    BOOST_TEST(usual_directories(driver_machines(EM_S390).native).empty());
}

BOOST_FIXTURE_TEST_CASE(directories_of_each_machine, AnyHost)
{
    const LibraryMachine &arm = driver_machines(EM_AARCH64).native;
    const LibraryMachine &x86 = driver_machines(EM_X86_64).native;
    add("usr/lib64", EM_AARCH64); // Red Hat; the others come before it
    BOOST_TEST(found(arm) == "/usr/lib64");
    BOOST_TEST(found(x86) == "");
    add("usr/lib/aarch64-linux-gnu", EM_AARCH64);
    BOOST_TEST(found(arm) == "/usr/lib/aarch64-linux-gnu");
    add("usr/lib/aarch64-linux-gnu/nvidia/current", EM_AARCH64);
    BOOST_TEST(found(arm) == "/usr/lib/aarch64-linux-gnu/nvidia/current");
    BOOST_TEST(found(x86) == "");
    add("usr/lib/x86_64-linux-gnu", EM_X86_64);
    BOOST_TEST(found(x86) == "/usr/lib/x86_64-linux-gnu");
    add("usr/lib/arm-linux-gnueabihf", EM_ARM, false);
    BOOST_TEST(found(driver_machines(EM_AARCH64).compat32) == "/usr/lib/arm-linux-gnueabihf");
}

BOOST_FIXTURE_TEST_CASE(another_machines_library_is_passed_over, AnyHost)
{
    add("usr/lib/aarch64-linux-gnu", EM_X86_64);
    add("usr/lib64", EM_AARCH64, false); // of the other class
    BOOST_TEST(found(driver_machines(EM_AARCH64).native) == "");
    add("usr/lib", EM_AARCH64);
    BOOST_TEST(found(driver_machines(EM_AARCH64).native) == "/usr/lib");
}

BOOST_FIXTURE_TEST_CASE(the_cache_says_for_which_machine, AnyHost)
{
    add("opt/arm", EM_AARCH64);
    add("opt/x86", EM_X86_64);
    CacheImage cache;
    cache.entries.push_back({"libcuda.so.1", "/opt/x86/libcuda.so.1", 0x0303});
    cache.entries.push_back({"libcuda.so.1", "/opt/arm/libcuda.so.1", 0x0A03});
    file("etc/ld.so.cache", cache.bytes());
    BOOST_TEST(found(driver_machines(EM_AARCH64).native) == "/opt/arm");
    BOOST_TEST(found(driver_machines(EM_X86_64).native) == "/opt/x86");
}

BOOST_AUTO_TEST_SUITE_END()
