// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ogh {

/** A library that the loader finds by its name. The views lie in the bytes that were parsed. */
struct LdCacheEntry {
    std::string_view name;
    std::string_view path;
    std::int32_t flags = 0; ///< what the loader must be: libc, machine
    std::uint32_t os_version = 0;
    /** The hwcap bits of older times; with a subdirectory: the level of the instruction set, in its own bits. */
    std::uint64_t hwcap = 0;
    std::string_view subdirectory; ///< the name below glibc-hwcaps; "" if the library is not below one

    bool operator==(const LdCacheEntry &) const = default;
};

struct LdCache {
    std::vector<LdCacheEntry> entries; ///< as they stand in the file
    bool has_extensions = false;       ///< written for a glibc that knows glibc-hwcaps (2.33)
    size_t left_out = 0;               ///< entries that could not be read
};

/** A file that glibc's loader would not use. */
struct NoLdCache {
    std::string why; ///< what reads well behind "is ignored: "
};

/**
 * Reads an ld.so.cache in any form that glibc has written (see ld_cache_format.h): the new one, the old one with the
 * new one embedded, and the old one alone, which the loader reads to this day. It is an image's and may be hostile:
 * the time is linear in its size, and nothing outside `bytes` is looked at.
 *
 * It is no cache where the loader would not use it either, and where it would read beyond its end. Left out are
 * entries that the loader cannot use: name or path outside or without an end in the file, a name longer than a
 * file's can be (255), a path longer than it can be (4095), a glibc-hwcaps name that is not there.
 */
std::variant<LdCache, NoLdCache> parse_ld_cache(std::string_view bytes);

} // namespace ogh
