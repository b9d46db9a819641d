// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/**
 * What /etc/ld.so.cache looks like on disk, as glibc's sysdeps/generic/dl-cache.h defines it (the old form: since
 * 2.0; the new one: since 2.2; byte order: since 2.32; extensions: since 2.33). All numbers are 32 bits wide and of
 * the machine's byte order unless said otherwise; only little-endian machines are known here.
 *
 *     new form                                         old form
 *      0  "glibc-ld.so.cache1.1"                        0  "ld.so-1.7.0", one byte of padding
 *     20  number of entries                            12  number of entries
 *     24  size of the strings                          16  the entries: flags, name, path
 *     28  byte order (one byte, three of padding)          the strings; or, aligned, the new form as a whole
 *     32  where the extensions begin, 0: none
 *     36  unused, 12 bytes
 *     48  the entries: flags, name, path, OS version, hwcap (64 bits)
 *         the strings, each ended by a NUL
 *         the extensions: magic, number of sections; each section: tag, flags, offset, size
 *
 * Names and paths count from the new form's beginning, in the old form from the end of its entries. The extensions
 * and their sections count from the beginning of the file. The strings that the hwcaps section names count from the
 * new form's beginning when ldconfig writes them; the loader counts from the beginning of the file, and so never
 * finds them where the new form is embedded in the old one.
 */
namespace ogh::ld_cache_format {

inline constexpr std::string_view new_magic = "glibc-ld.so.cache1.1";
inline constexpr size_t new_count_at = 20;
inline constexpr size_t new_byte_order_at = 28;
inline constexpr size_t new_extensions_at = 32;
inline constexpr size_t new_header_size = 48;
inline constexpr size_t new_entry_size = 24;

inline constexpr std::string_view old_magic = "ld.so-1.7.0";
inline constexpr size_t old_count_at = 12;
inline constexpr size_t old_header_size = 16;
inline constexpr size_t old_entry_size = 12;

/** The two lowest bits of the byte order; the whole byte is 0 in a cache that does not say. */
inline constexpr unsigned byte_order_mask = 3;
inline constexpr unsigned byte_order_little = 2;

inline constexpr std::uint32_t extensions_magic = 0xEAA42174;
inline constexpr size_t extensions_header_size = 8;
inline constexpr size_t section_size = 16;
inline constexpr std::uint32_t section_generator = 0; ///< text: who has written the cache
inline constexpr std::uint32_t section_hwcaps = 1;    ///< where each glibc-hwcaps name stands, in their order

/**
 * hwcap of a library below glibc-hwcaps: this bit, the level of the instruction set it needs, and in the lower half
 * which name of the hwcaps section. Without the bit, or with others beside it: the hwcap bits of older times.
 */
inline constexpr std::uint64_t hwcap_extension = std::uint64_t{1} << 62U;
inline constexpr std::uint64_t hwcap_level_mask = std::uint64_t{0x3FF} << 32U;
inline constexpr std::uint64_t hwcap_index_mask = 0xFFFFFFFF;

/** Flags: the type of library in the lowest byte (here always one for libc 6), the machine above it. */
inline constexpr std::int32_t flags_libc6 = 0x0003;
inline constexpr std::int32_t flags_machine_mask = 0xFF00;
inline constexpr std::int32_t flags_x86_64 = 0x0300;
inline constexpr std::int32_t flags_s390x = 0x0400;
inline constexpr std::int32_t flags_ppc64 = 0x0500;
inline constexpr std::int32_t flags_x32 = 0x0800;
inline constexpr std::int32_t flags_arm_hard_float = 0x0900;
inline constexpr std::int32_t flags_aarch64 = 0x0A00;
inline constexpr std::int32_t flags_arm_soft_float = 0x0B00;
inline constexpr std::int32_t flags_riscv_soft_float = 0x0F00;
inline constexpr std::int32_t flags_riscv_double_float = 0x1000;

} // namespace ogh::ld_cache_format
