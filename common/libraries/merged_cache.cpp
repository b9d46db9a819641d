// SPDX-License-Identifier: Apache-2.0
#include "libraries/merged_cache.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/little_endian.h"
#include "libraries/cache_order.h"
#include "loader/ld_cache.h"
#include "loader/ld_cache_format.h"

namespace ogh {

namespace {

using namespace ld_cache_format;

/** What `ldconfig -p` prints as the cache's origin. Without a version: a newer hook has no reason to write anew. */
constexpr std::string_view generator = "oci-gpu-hooks";

constexpr size_t section_count = 2;

/**
 * The strings of a cache that is to be written. Strings that end at the same byte of memory, as the views into a
 * parsed cache do if they shared bytes there, are written once: the longest, of which the others are the tail. So a
 * hostile cache, whose entries may all name parts of one long string, does not grow.
 *
 * Works in two steps: add() all and place(), then offset() and write(). The views must stay valid.
 */
class CacheStrings final {
public:
    void add(std::string_view text)
    {
        const auto [known, is_new] = numbers_.try_emplace(text.data() + text.size(), texts_.size());
        if (is_new)
            texts_.push_back({known->first});
        size_t &length = texts_[known->second].length;
        length = std::max(length, text.size());
    }

    /** Gives each string its place, in the order in which they were added first. @return how long they are together */
    std::uint64_t place()
    {
        std::uint64_t next = 0;
        for (Text &text : texts_) {
            text.offset = next;
            next += text.length + 1;
        }
        return next;
    }

    /** Where the string begins, from the first one's beginning; it has been added. */
    [[nodiscard]] std::uint64_t offset(std::string_view text) const
    {
        const Text &known = texts_[numbers_.at(text.data() + text.size())];
        return known.offset + known.length - text.size();
    }

    void write(std::string &bytes) const
    {
        for (const Text &text : texts_) {
            bytes.append(text.end - text.length, text.length);
            bytes.push_back('\0');
        }
    }

private:
    struct Text {
        const char *end;
        size_t length = 0;
        std::uint64_t offset = 0;
    };

    std::vector<Text> texts_;
    /** Of texts_, by their ends: an image chooses these, and could choose the collisions of a hash. */
    std::map<const char *, size_t> numbers_;
};

using Entries = std::vector<LdCacheEntry>;

void put(std::string &bytes, std::uint64_t number)
{
    append_little_endian(bytes, static_cast<std::uint32_t>(number));
}

/** Mostly a name is the last component of its path, and can be its tail. */
bool is_tail(const LdCacheEntry &entry)
{
    return entry.path.size() > entry.name.size() && entry.path.ends_with(entry.name) &&
           entry.path[entry.path.size() - entry.name.size() - 1] == '/';
}

/** The glibc-hwcaps names of all entries, each once, sorted as the loader needs them. */
std::vector<std::string_view> subdirectories_of(const Entries &entries)
{
    std::vector<std::string_view> names;
    for (const LdCacheEntry &entry : entries) {
        if (!entry.subdirectory.empty())
            names.push_back(entry.subdirectory);
    }
    // Stable: of equal ones the first stays, and the next reader of the cache gives them all its bytes.
    std::stable_sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

/** Writes the new form of an ld.so.cache (see ld_cache_format.h) with these entries, in this order. */
class Writer final {
public:
    /**
     * @param with_extensions whether to write the extensions section; it must be, if an entry has a subdirectory
     * @throws Error if the result would have 4 GiB, more than its offsets reach
     */
    Writer(const Entries &entries, bool with_extensions)
        : entries_(entries), with_extensions_(with_extensions), subdirectories_(subdirectories_of(entries))
    {
        for (const LdCacheEntry &entry : entries_) {
            strings_.add(entry.path);
            if (!is_tail(entry))
                strings_.add(entry.name);
        }
        for (const std::string_view name : subdirectories_)
            strings_.add(name);
        // To the loader a header alone is no cache.
        if (entries_.empty() && !with_extensions_)
            strings_.add("");
        lay_out();
    }

    [[nodiscard]] std::string bytes() const
    {
        std::string bytes;
        bytes.reserve(end_);
        put_header(bytes);
        for (const LdCacheEntry &entry : entries_)
            put_entry(bytes, entry);
        strings_.write(bytes);
        if (with_extensions_)
            put_extensions(bytes);
        return bytes;
    }

private:
    void lay_out()
    {
        strings_at_ = new_header_size + entries_.size() * new_entry_size;
        strings_size_ = strings_.place();
        end_ = strings_at_ + strings_size_;
        if (with_extensions_) {
            extensions_at_ = (end_ + 3) / 4 * 4;
            hwcaps_at_ = extensions_at_ + extensions_header_size + section_count * section_size;
            end_ = hwcaps_at_ + subdirectories_.size() * 4 + generator.size();
        }
        if (end_ > UINT32_MAX)
            throw Error(ErrorKind::Failure, "the loader cache would have more than 4 GiB");
    }

    [[nodiscard]] std::uint64_t place_of(std::string_view text) const
    {
        return strings_at_ + strings_.offset(text);
    }

    void put_header(std::string &bytes) const
    {
        bytes.append(new_magic);
        put(bytes, entries_.size());
        put(bytes, strings_size_);
        put(bytes, byte_order_little);
        put(bytes, extensions_at_);
        bytes.append(new_header_size - bytes.size(), '\0');
    }

    [[nodiscard]] std::uint64_t hwcap_of(const LdCacheEntry &entry) const
    {
        if (entry.subdirectory.empty())
            return entry.hwcap;
        const auto place =
            std::lower_bound(subdirectories_.begin(), subdirectories_.end(), entry.subdirectory);
        return hwcap_extension | (entry.hwcap & hwcap_level_mask) |
               static_cast<std::uint64_t>(place - subdirectories_.begin());
    }

    void put_entry(std::string &bytes, const LdCacheEntry &entry) const
    {
        const std::uint64_t path = place_of(entry.path);
        put(bytes, static_cast<std::uint32_t>(entry.flags));
        put(bytes, is_tail(entry) ? path + entry.path.size() - entry.name.size() : place_of(entry.name));
        put(bytes, path);
        put(bytes, entry.os_version);
        append_little_endian(bytes, hwcap_of(entry));
    }

    static void put_section(std::string &bytes, std::uint32_t tag, std::uint64_t offset, size_t size)
    {
        put(bytes, tag);
        put(bytes, 0);
        put(bytes, offset);
        put(bytes, size);
    }

    /** Both sections are there even if no library is below glibc-hwcaps; the loader takes an empty one for none. */
    void put_extensions(std::string &bytes) const
    {
        const size_t hwcaps_size = subdirectories_.size() * 4;
        bytes.append(extensions_at_ - bytes.size(), '\0');
        put(bytes, extensions_magic);
        put(bytes, section_count);
        put_section(bytes, section_generator, hwcaps_at_ + hwcaps_size, generator.size());
        put_section(bytes, section_hwcaps, hwcaps_at_, hwcaps_size);
        for (const std::string_view name : subdirectories_)
            put(bytes, place_of(name));
        bytes.append(generator);
    }

    const Entries &entries_;
    bool with_extensions_;
    std::vector<std::string_view> subdirectories_;
    CacheStrings strings_;
    std::uint64_t strings_at_ = 0;
    std::uint64_t strings_size_ = 0;
    std::uint64_t extensions_at_ = 0;
    std::uint64_t hwcaps_at_ = 0;
    std::uint64_t end_ = 0;
};

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

/** A cache that ldconfig has written is sorted already. */
void sort(Entries::iterator first, Entries::iterator last, CharSign sign)
{
    const auto before = [&](const LdCacheEntry &a, const LdCacheEntry &b) { return goes_before(a, b, sign); };
    if (!std::is_sorted(first, last, before))
        std::stable_sort(first, last, before);
}

/** One entry for a machine with unsigned characters is enough: no such machine shares a cache with another kind. */
CharSign char_sign_of(const Entries &entries)
{
    const auto is_unsigned = [](const LdCacheEntry &entry) {
        return char_sign(entry.flags) == CharSign::Unsigned;
    };
    return std::any_of(entries.begin(), entries.end(), is_unsigned) ? CharSign::Unsigned : CharSign::Signed;
}

} // namespace

std::string merged_cache(const LdCache *image, const std::vector<std::string> &directories,
                         const std::vector<AddedLibrary> &added)
{
    Entries entries;
    entries.reserve(added.size() + (image != nullptr ? image->entries.size() : 0));
    for (const AddedLibrary &library : added)
        entries.push_back(
            {library.name, library.path, library.flags, library.os_version, 0, library.subdirectory});
    if (image != nullptr)
        std::remove_copy_if(image->entries.begin(), image->entries.end(), std::back_inserter(entries),
                            [&](const LdCacheEntry &entry) {
                                return std::any_of(directories.begin(), directories.end(),
                                                   [&](const std::string &directory) {
                                                       return is_library_of(entry.path, directory);
                                                   });
                            });
    const CharSign sign = char_sign_of(entries);
    const auto first_kept = entries.begin() + static_cast<std::ptrdiff_t>(added.size());
    sort(entries.begin(), first_kept, sign);
    sort(first_kept, entries.end(), sign);
    // Of those that are alike but for the OS the added ones come first.
    std::inplace_merge(
        entries.begin(), first_kept, entries.end(),
        [&](const LdCacheEntry &a, const LdCacheEntry &b) { return compare_entries(a, b, sign) < 0; });
    const bool with_extensions = image == nullptr || image->has_extensions ||
                                 std::any_of(added.begin(), added.end(), [](const auto &library) {
                                     return !library.subdirectory.empty();
                                 });
    return Writer(entries, with_extensions).bytes();
}

} // namespace ogh
