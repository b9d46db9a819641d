// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/driver/library_machine.h"

#include <elf.h>

#include <array>

#include "loader/ld_cache_format.h"

// The only machines that the driver is made for now.
#if defined(__x86_64__)
#define OGH_TRIPLET "x86_64-linux-gnu"
#define OGH_TRIPLET_32 "i386-linux-gnu"
#elif defined(__aarch64__)
#define OGH_TRIPLET "aarch64-linux-gnu"
#define OGH_TRIPLET_32 "arm-linux-gnueabihf"
#endif

namespace ogh::nvidia_devices {

#if defined(OGH_TRIPLET)

namespace {

using namespace ld_cache_format;

/** The narrower a folder is meant for the driver, the earlier it is looked at. */
constexpr std::array<const char *, 13> folders_64{
    "/usr/lib/" OGH_TRIPLET "/nvidia/current", // Debian
    "/usr/lib/" OGH_TRIPLET,                   // Debian, Ubuntu
    "/usr/lib64/nvidia",                       // Fedora's third-party packages of some years ago
    "/usr/lib64",                              // Red Hat, SUSE, Gentoo
    "/run/opengl-driver/lib",                  // NixOS
    "/usr/local/glibc/usr/lib",                // Talos
    "/usr/lib/nvidia/tesla",                   // Bottlerocket
    "/usr/lib/nvidia",                         //
    "/usr/lib",                                // Arch Linux
    "/lib64",                                  // the folder of a driver alone, as on GKE
    "/lib",                                    //
    "/usr/local/lib64",                        //
    "/usr/local/lib",                          // Talos, older
};

constexpr std::array<const char *, 7> folders_32{
    "/usr/lib/" OGH_TRIPLET_32 "/nvidia/current",
    "/usr/lib/" OGH_TRIPLET_32,
    "/usr/lib32/nvidia",
    "/usr/lib32",
    "/run/opengl-driver-32/lib",
    "/usr/lib",
    "/lib32",
};

} // namespace

#endif

const LibraryMachine &native_machine()
{
#if defined(__x86_64__)
    static constexpr LibraryMachine machine{EM_X86_64, true, flags_x86_64, folders_64};
#elif defined(__aarch64__)
    static constexpr LibraryMachine machine{EM_AARCH64, true, flags_aarch64, folders_64};
#else
    static constexpr LibraryMachine machine;
#endif
    return machine;
}

const LibraryMachine &compat32_machine()
{
#if defined(__x86_64__)
    static constexpr LibraryMachine machine{EM_386, false, 0, folders_32}; // no machine's bits: i386
#elif defined(__aarch64__)
    static constexpr LibraryMachine machine{EM_ARM, false, flags_arm_hard_float, folders_32};
#else
    static constexpr LibraryMachine machine;
#endif
    return machine;
}

} // namespace ogh::nvidia_devices
