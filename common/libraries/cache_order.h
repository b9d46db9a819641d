// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "loader/ld_cache.h"

namespace ogh {

/**
 * Whether the loader takes a char above 127 for less than 0, as C does on x86, or for more than 127, as on ARM and
 * Power. It is a property of the machine, and so of the cache as a whole.
 */
enum class CharSign { Signed, Unsigned };

/** What the flags of one entry say of the machine; those of i386 and of old ARM are the same, and count as i386's. */
CharSign char_sign(std::int32_t flags);

/**
 * Compares names as the loader does in its search (_dl_cache_libcmp in glibc's elf/dl-cache.c): byte by byte, but
 * runs of digits as numbers, which are more than any other byte. Numbers are ints that wrap around. What is behind
 * a NUL does not count. Unlike the loader's own, which subtracts, this stays an order whatever the numbers.
 * @return less than, equal to, or more than 0; 0 also for different names: "lib1" and "lib01"
 */
int compare_names(std::string_view a, std::string_view b, CharSign sign);

/**
 * Compares two entries as ldconfig does when it sorts a cache, but for the OS version: what the loader finds first
 * is less. Names and flags go downwards (the search relies on it). Libraries below glibc-hwcaps come before others,
 * by subdirectory (the loader stops at the first other one), then those with more of the old hwcap bits.
 */
int compare_entries(const LdCacheEntry &a, const LdCacheEntry &b, CharSign sign);

/** The order of a whole cache: as compare_entries, and for a newer OS first. */
bool goes_before(const LdCacheEntry &a, const LdCacheEntry &b, CharSign sign);

} // namespace ogh
