// SPDX-License-Identifier: Apache-2.0
#include "libraries/merged_cache.h"

#include <algorithm>
#include <string_view>

#include "libraries/cache_order.h"
#include "loader/ld_cache_writer.h"

namespace ogh {

namespace {

using Entries = std::vector<const LdCacheEntry *>;

bool is_below(std::string_view path, std::string_view directory)
{
    return path.size() > directory.size() && path.starts_with(directory) && path[directory.size()] == '/';
}

/** Whether the path is that of a library which the loader would find in the directory. */
bool is_library_of(std::string_view path, std::string_view directory)
{
    constexpr std::string_view hwcaps = "glibc-hwcaps";
    if (!is_below(path, directory))
        return false;
    const std::string_view inside = path.substr(directory.size() + 1);
    return inside.find('/') == std::string_view::npos || is_below(inside, hwcaps);
}

Entries kept_entries(const LdCache &image, const std::vector<std::string> &directories)
{
    Entries kept;
    kept.reserve(image.entries.size());
    for (const LdCacheEntry &entry : image.entries) {
        const bool is_old =
            std::any_of(directories.begin(), directories.end(),
                        [&](const std::string &directory) { return is_library_of(entry.path, directory); });
        if (!is_old)
            kept.push_back(&entry);
    }
    return kept;
}

std::vector<LdCacheEntry> entries_of(const std::vector<AddedLibrary> &added)
{
    std::vector<LdCacheEntry> entries;
    entries.reserve(added.size());
    for (const AddedLibrary &library : added)
        entries.push_back(
            {library.name, library.path, library.flags, library.os_version, 0, library.subdirectory});
    return entries;
}

/** One entry for a machine with unsigned characters is enough: no such machine shares a cache with another kind. */
CharSign char_sign_of(const Entries &some, const Entries &others)
{
    const auto is_unsigned = [](const LdCacheEntry *entry) {
        return char_sign(entry->flags) == CharSign::Unsigned;
    };
    return std::any_of(some.begin(), some.end(), is_unsigned) ||
                   std::any_of(others.begin(), others.end(), is_unsigned)
               ? CharSign::Unsigned
               : CharSign::Signed;
}

/** A cache that ldconfig has written is sorted already. */
void sort(Entries &entries, CharSign sign)
{
    const auto before = [&](const LdCacheEntry *a, const LdCacheEntry *b) {
        return goes_before(*a, *b, sign);
    };
    if (!std::is_sorted(entries.begin(), entries.end(), before))
        std::stable_sort(entries.begin(), entries.end(), before);
}

/**
 * Both in one order; of equal ones those of `few` come first. Their places are looked for, which takes fewer compares
 * than a look at each of the many.
 */
Entries merged(const Entries &few, const Entries &many, CharSign sign)
{
    Entries all;
    all.reserve(few.size() + many.size());
    auto next = many.begin();
    for (const LdCacheEntry *entry : few) {
        const auto place =
            std::lower_bound(next, many.end(), entry, [&](const LdCacheEntry *a, const LdCacheEntry *b) {
                return compare_entries(*a, *b, sign) < 0;
            });
        all.insert(all.end(), next, place);
        all.push_back(entry);
        next = place;
    }
    all.insert(all.end(), next, many.end());
    return all;
}

} // namespace

std::string merged_cache(const LdCache *image, const std::vector<std::string> &directories,
                         const std::vector<AddedLibrary> &added)
{
    const std::vector<LdCacheEntry> new_entries = entries_of(added);
    Entries first;
    first.reserve(new_entries.size());
    for (const LdCacheEntry &entry : new_entries)
        first.push_back(&entry);
    Entries second = image != nullptr ? kept_entries(*image, directories) : Entries();
    const CharSign sign = char_sign_of(first, second);
    sort(first, sign);
    sort(second, sign);
    const Entries all = merged(first, second, sign);
    const bool with_extensions = image == nullptr || image->has_extensions ||
                                 std::any_of(added.begin(), added.end(), [](const auto &library) {
                                     return !library.subdirectory.empty();
                                 });
    return write_ld_cache(all, with_extensions);
}

} // namespace ogh
