// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace ogh::nvidia_devices {

/** What the libraries of one kind of program are like, and where they are. */
struct LibraryMachine {
    std::uint16_t elf_machine = 0; ///< EM_*; EM_NONE where there is no driver for such programs
    bool is_64 = false;
    std::int32_t cache_flags = 0;                  ///< the machine's bits in a loader cache
    const char *triplet = "";                      ///< what Debian calls the machine: "x86_64-linux-gnu"
    const char *loader = "";                       ///< by which its programs name glibc's
    std::span<const char *const> directories = {}; ///< where to look if no loader cache tells
};

/** The machines that the driver is made for, whichever one this is. */
struct DriverMachines {
    LibraryMachine native;
    LibraryMachine compat32; ///< the 32-bit programs that it can run
};

/** @param elf_machine EM_X86_64, EM_AARCH64; others have no driver */
const DriverMachines &driver_machines(std::uint16_t elf_machine);

/** This machine's own programs. */
const LibraryMachine &native_machine();

/** The 32-bit programs that it can run. */
const LibraryMachine &compat32_machine();

} // namespace ogh::nvidia_devices
