// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <iterator>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/little_endian.h"
#include "libraries/cache_order.h"
#include "libraries/merged_cache.h"
#include "loader/ld_cache.h"
#include "promise.h"
#include "target.h"

namespace ogh::fuzz::ld_cache {

namespace {

const std::vector<std::string> directories = {"/opt/gpu", "/usr/lib"};

const std::vector<AddedLibrary> libraries = {
    {"libc.so.6", "/opt/gpu/libc.so.6", 0x0303, 0x00030200, ""},
    {"libx.so.1", "/opt/gpu/libx.so.1.2", 0x0303, 0, ""},
    {"libx.so.1", "/opt/gpu/libx32.so.1", 0x0003, 0, ""},
};

const std::vector<AddedLibrary> more_libraries = {
    {"libx.so.1", "/usr/lib/libx.so.1", 0x0A03, 0, ""},
    {"libx.so.1", "/usr/lib/glibc-hwcaps/x86-64-v2/libx.so.1.2", 0x0303, 0, "x86-64-v2"},
    {"libx.so.1", "/usr/lib/glibc-hwcaps/a/libx.so.1.2", 0x0303, 0, "a"},
};

const LdCache *cache_of(const std::variant<LdCache, NoLdCache> &result)
{
    return std::get_if<LdCache>(&result);
}

/** A part of a name as the loader compares it: a number, or a character. Written after the loader, not after the code. */
using Part = std::pair<bool, std::int32_t>;

std::vector<Part> parts_of(std::string_view name, bool is_signed)
{
    std::vector<Part> parts;
    bool in_number = false;
    for (const char c : name) {
        const bool is_digit = c >= '0' && c <= '9';
        if (is_digit && in_number)
            parts.back().second = static_cast<std::int32_t>(
                static_cast<std::uint32_t>(parts.back().second) * 10 + static_cast<std::uint32_t>(c - '0'));
        else if (is_digit)
            parts.emplace_back(true, c - '0');
        else
            parts.emplace_back(false,
                               is_signed ? static_cast<signed char>(c) : static_cast<unsigned char>(c));
        in_number = is_digit;
    }
    parts.emplace_back(false, 0);
    return parts;
}

bool has_unsigned_characters(std::int32_t flags)
{
    const int machine = flags >> 8 & 0xFF;
    return machine == 4 || machine == 5 || machine == 9 || machine == 10 || machine == 11 || machine == 15 ||
           machine == 16;
}

bool is_signed_cache(const std::vector<LdCacheEntry> &entries)
{
    return std::none_of(entries.begin(), entries.end(),
                        [](const LdCacheEntry &entry) { return has_unsigned_characters(entry.flags); });
}

/** Whether `b` may stand behind `a`. */
bool is_order(const LdCacheEntry &a, const LdCacheEntry &b, bool is_signed)
{
    const auto left = parts_of(a.name, is_signed);
    const auto right = parts_of(b.name, is_signed);
    if (left != right)
        return left > right;
    if (a.flags != b.flags)
        return a.flags > b.flags;
    if (a.subdirectory.empty() != b.subdirectory.empty())
        return !a.subdirectory.empty();
    if (!a.subdirectory.empty())
        return a.subdirectory <= b.subdirectory;
    return std::pair(std::popcount(a.hwcap), a.hwcap) >= std::pair(std::popcount(b.hwcap), b.hwcap);
}

/** The loader's search: whether halving the table leads to this name. */
bool is_found(const std::vector<std::vector<Part>> &names, const std::vector<Part> &name)
{
    size_t left = 0;
    size_t right = names.size();
    while (left < right) {
        const size_t middle = left + (right - left) / 2;
        if (names[middle] == name)
            return true;
        if (name < names[middle])
            left = middle + 1;
        else
            right = middle;
    }
    return false;
}

void check_order(const LdCache &cache)
{
    const bool is_signed = is_signed_cache(cache.entries);
    std::vector<std::vector<Part>> names;
    for (size_t i = 0; i < cache.entries.size(); i++) {
        names.push_back(parts_of(cache.entries[i].name, is_signed));
        require(i == 0 || is_order(cache.entries[i - 1], cache.entries[i], is_signed),
                "entries are in the loader's order");
    }
    for (const std::vector<Part> &name : names)
        require(is_found(names, name), "the loader finds every name");
}

void check_inside(std::string_view view, std::string_view bytes)
{
    require(view.data() >= bytes.data() && view.data() + view.size() < bytes.data() + bytes.size(),
            "what is read lies in the file");
    const auto end = static_cast<size_t>(view.data() - bytes.data()) + view.size();
    require(bytes[end] == '\0' && view.find('\0') == std::string_view::npos, "a string ends at a NUL");
}

/** The number that the header in effect gives, where that can be told without parsing. */
void check_parsed(const LdCache &cache, std::string_view bytes)
{
    const size_t count = cache.entries.size() + cache.left_out;
    require(count * 12 + 16 <= bytes.size(), "all entries are in the file");
    if (bytes.starts_with("glibc-"))
        require(count == load_little_endian<std::uint32_t>(bytes, 20), "all entries are accounted for");
    for (const LdCacheEntry &entry : cache.entries) {
        check_inside(entry.name, bytes);
        check_inside(entry.path, bytes);
        require(entry.name.size() <= 255 && entry.path.size() <= 4095, "names and paths are bounded");
        if (!entry.subdirectory.empty())
            check_inside(entry.subdirectory, bytes);
        require(entry.subdirectory.empty() || cache.has_extensions, "subdirectories are from the extensions");
    }
}

/** The entries as plain values, in an order that says nothing. */
std::vector<LdCacheEntry> sorted(std::vector<LdCacheEntry> entries)
{
    const auto key = [](const LdCacheEntry &entry) {
        return std::tie(entry.name, entry.path, entry.flags, entry.os_version, entry.hwcap,
                        entry.subdirectory);
    };
    std::sort(entries.begin(), entries.end(), [&](const auto &a, const auto &b) { return key(a) < key(b); });
    return entries;
}

bool is_old(std::string_view path)
{
    return std::any_of(directories.begin(), directories.end(), [&](const std::string &directory) {
        return path.starts_with(directory + "/") &&
               (path.rfind('/') == directory.size() || path.starts_with(directory + "/glibc-hwcaps/"));
    });
}

void check_merged(const LdCache &cache, size_t size, const std::vector<AddedLibrary> &added)
{
    const std::string merged = merged_cache(&cache, directories, added);
    const auto result = parse_ld_cache(merged);
    const LdCache *again = cache_of(result);
    require(again != nullptr && again->left_out == 0, "what is written can be read");
    check_parsed(*again, merged);
    check_order(*again);
    std::vector<LdCacheEntry> expected;
    std::copy_if(cache.entries.begin(), cache.entries.end(), std::back_inserter(expected),
                 [](const LdCacheEntry &entry) { return !is_old(entry.path); });
    size_t bound = 2 * size + 128;
    bool needs_extensions = cache.has_extensions;
    for (const AddedLibrary &library : added) {
        expected.push_back(
            {library.name, library.path, library.flags, library.os_version, 0, library.subdirectory});
        bound += 24 + 4 + library.name.size() + library.path.size() + library.subdirectory.size() + 3;
        needs_extensions = needs_extensions || !library.subdirectory.empty();
    }
    require(sorted(again->entries) == sorted(expected), "entries are neither lost nor changed");
    require(again->has_extensions == needs_extensions, "the extensions stay as they are");
    require(merged.size() <= bound, "the cache does not grow");
    require(merged_cache(again, directories, added) == merged, "a second run changes nothing");
}

/** Any three names are in an order. */
void check_names(const LdCache &cache)
{
    const size_t count = std::min<size_t>(cache.entries.size(), 8);
    for (size_t i = 0; i + 2 < count; i++) {
        const std::string_view a = cache.entries[i].name;
        const std::string_view b = cache.entries[i + 1].name;
        const std::string_view c = cache.entries[i + 2].name;
        for (const CharSign sign : {CharSign::Signed, CharSign::Unsigned}) {
            const int ab = compare_names(a, b, sign);
            const int bc = compare_names(b, c, sign);
            const int ac = compare_names(a, c, sign);
            require((ab < 0) == (compare_names(b, a, sign) > 0), "an order has two sides");
            require(ab > 0 || bc > 0 || ac <= 0, "an order carries on");
            require(ab != 0 || bc != 0 || ac == 0, "so does being equal");
        }
    }
}

} // namespace

void check(std::string_view input)
{
    const auto result = parse_ld_cache(input);
    if (const auto *problem = std::get_if<NoLdCache>(&result)) {
        require(!problem->why.empty() && is_one_clean_line(problem->why), "a reason is one clean line");
        return;
    }
    const LdCache &cache = *cache_of(result);
    check_parsed(cache, input);
    check_names(cache);
    check_merged(cache, input.size(), {});
    check_merged(cache, input.size(), libraries);
    check_merged(cache, input.size(), more_libraries);
}

} // namespace ogh::fuzz::ld_cache
