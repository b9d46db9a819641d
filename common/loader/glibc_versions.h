// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/dotted_version.h"

namespace ogh {

/** Versions of glibc's interface, by the names of ELF symbol versions: those that a library needs, or glibc has. */
struct GlibcVersions {
    DottedVersion highest = {};       ///< 2.36 of "GLIBC_2.36"; 0.0 for none
    std::set<std::string> marks = {}; ///< those that are no numbers: "GLIBC_ABI_DT_RELR"

    /** Takes in a version's name; what is not glibc's, or is GLIBC_PRIVATE, counts for nothing. */
    void add(std::string_view name);

    /** One of those that are needed and not among these: "GLIBC_2.38"; "" if there is none. */
    [[nodiscard]] std::string lacking(const GlibcVersions &needed) const;

    bool operator==(const GlibcVersions &) const = default;
};

// Both read a library with pread(2), at most 64 KiB and 256 versions of it, as the Linux Standard Base, Core, "Symbol
// Versioning" has them. Everything in it may be hostile.

/** What a library needs; nothing if it cannot be understood. */
std::optional<GlibcVersions> needed_glibc(int fd);

/** What a C library has; nothing if it cannot be understood, or is not glibc. */
std::optional<GlibcVersions> defined_glibc(int fd);

} // namespace ogh
