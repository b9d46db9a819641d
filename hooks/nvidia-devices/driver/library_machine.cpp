// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/driver/library_machine.h"

#include <elf.h>

#include <array>

#include "loader/ld_cache_format.h"

namespace ogh::nvidia_devices {

namespace {

using namespace ld_cache_format;

#if defined(__x86_64__)
constexpr std::uint16_t this_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t this_machine = EM_AARCH64;
#else
constexpr std::uint16_t this_machine = EM_NONE;
#endif

using Directories64 = std::array<const char *, 14>;
using Directories32 = std::array<const char *, 8>;

/** The narrower a directory is meant for the driver, the earlier it is looked at. */
constexpr Directories64 directories_64(const char *current, const char *multiarch, const char *without_usr)
{
    return {
        current,                    // Debian
        multiarch,                  // Debian, Ubuntu
        "/usr/lib64/nvidia",        // Fedora's third-party packages of some years ago
        "/usr/lib64",               // Red Hat, SUSE, Gentoo
        "/run/opengl-driver/lib",   // NixOS
        "/usr/local/glibc/usr/lib", // Talos
        "/usr/lib/nvidia/tesla",    // Bottlerocket
        "/usr/lib/nvidia",          //
        "/usr/lib",                 // Arch Linux
        without_usr,                // roots whose /lib is no link to /usr/lib
        "/lib64",                   // the directory of a driver alone, as on GKE
        "/lib",                     //
        "/usr/local/lib64",         //
        "/usr/local/lib",           // Talos, older
    };
}

constexpr Directories32 directories_32(const char *current, const char *multiarch, const char *without_usr)
{
    return {
        current,     multiarch, "/usr/lib32/nvidia", "/usr/lib32", "/run/opengl-driver-32/lib", "/usr/lib",
        without_usr, "/lib32",
    };
}

constexpr Directories64 x86_64 = directories_64("/usr/lib/x86_64-linux-gnu/nvidia/current",
                                                "/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu");
constexpr Directories32 i386 = directories_32("/usr/lib/i386-linux-gnu/nvidia/current",
                                              "/usr/lib/i386-linux-gnu", "/lib/i386-linux-gnu");
constexpr Directories64 aarch64 = directories_64("/usr/lib/aarch64-linux-gnu/nvidia/current",
                                                 "/usr/lib/aarch64-linux-gnu", "/lib/aarch64-linux-gnu");
constexpr Directories32 arm = directories_32("/usr/lib/arm-linux-gnueabihf/nvidia/current",
                                             "/usr/lib/arm-linux-gnueabihf", "/lib/arm-linux-gnueabihf");

constexpr DriverMachines machines_x86{
    {EM_X86_64, true, flags_x86_64, "x86_64-linux-gnu", "/lib64/ld-linux-x86-64.so.2", x86_64},
    {EM_386, false, 0, "i386-linux-gnu", "/lib/ld-linux.so.2", i386}, // no machine's bits: i386
};
constexpr DriverMachines machines_arm{
    {EM_AARCH64, true, flags_aarch64, "aarch64-linux-gnu", "/lib/ld-linux-aarch64.so.1", aarch64},
    {EM_ARM, false, flags_arm_hard_float, "arm-linux-gnueabihf", "/lib/ld-linux-armhf.so.3", arm},
};
constexpr DriverMachines no_machines{};

} // namespace

const DriverMachines &driver_machines(std::uint16_t elf_machine)
{
    switch (elf_machine) {
    case EM_X86_64:
        return machines_x86;
    case EM_AARCH64:
        return machines_arm;
    default:
        return no_machines;
    }
}

const LibraryMachine &native_machine()
{
    return driver_machines(this_machine).native;
}

const LibraryMachine &compat32_machine()
{
    return driver_machines(this_machine).compat32;
}

} // namespace ogh::nvidia_devices
