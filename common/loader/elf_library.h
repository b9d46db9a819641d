// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace ogh {

/** What the loader cache needs to know of a shared library. */
struct ElfLibrary {
    bool is_64 = false;
    std::uint16_t machine = 0;         ///< EM_*
    std::uint32_t processor_flags = 0; ///< EF_*, the machine's own
    /** "" if it has none, or none by which a file could be found: empty, with a slash or a control character. */
    std::string soname;
    /** The oldest kernel it runs on, as ldconfig puts it into a cache: OS, major, minor, patch, a byte each. */
    std::uint32_t os_version = 0;

    bool operator==(const ElfLibrary &) const = default;
};

/** A file that is no shared library, or not a whole one. */
struct NotALibrary {
    std::string why; ///< what reads well behind "is left out: "
};

/**
 * Reads the few parts of a little-endian ELF file that matter here, with pread(2): mostly three times, never more
 * than 16 KiB in all, whatever its size and whatever its headers say. The descriptor's offset stays as it is.
 */
std::variant<ElfLibrary, NotALibrary> read_elf_library(int fd);

} // namespace ogh
