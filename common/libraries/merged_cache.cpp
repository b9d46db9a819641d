// SPDX-License-Identifier: Apache-2.0
#include "libraries/merged_cache.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
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
 * Works in two steps: add() all, then offset() and write(). The views must stay valid.
 */
class CacheStrings final {
public:
    /** @param expected about how many different strings there will be */
    explicit CacheStrings(size_t expected);

    void add(std::string_view text);

    /** How long they are together, each with its NUL. */
    [[nodiscard]] std::uint64_t size() const { return size_; }

    /** Gives each string its place, in the order in which they were added first. To be called once, after all add(). */
    void place();

    /** Where the string begins, from the first one's beginning; it has been added. */
    [[nodiscard]] std::uint32_t offset(std::string_view text) const;

    void write(std::string &bytes) const;

private:
    struct Text {
        const char *end;
        size_t length;
        std::uint32_t offset;
    };

    /** The slot in which the text with this end is or would be. */
    [[nodiscard]] size_t slot_of(const char *end) const;
    void grow();

    std::vector<Text> texts_;
    std::vector<std::uint32_t>
        slots_; ///< hash table with open addressing: 1 + the number of the text; 0: free
    std::uint64_t size_ = 0;
};

const char *end_of(std::string_view text)
{
    return text.data() + text.size();
}

CacheStrings::CacheStrings(size_t expected) : slots_(std::bit_ceil(2 * std::max<size_t>(expected, 8)))
{
    texts_.reserve(expected);
}

size_t CacheStrings::slot_of(const char *end) const
{
    const size_t mask = slots_.size() - 1;
    // Addresses differ in their lowest bits most; the product carries them into the upper half.
    const std::uint64_t product = std::hash<const char *>()(end) * std::uint64_t{0x9E3779B97F4A7C15};
    size_t slot = (product >> 32U) & mask;
    while (slots_[slot] != 0 && texts_[slots_[slot] - 1].end != end)
        slot = (slot + 1) & mask;
    return slot;
}

void CacheStrings::grow()
{
    slots_.assign(slots_.size() * 2, 0);
    for (std::uint32_t i = 0; i < texts_.size(); i++)
        slots_[slot_of(texts_[i].end)] = i + 1;
}

void CacheStrings::add(std::string_view text)
{
    const size_t slot = slot_of(end_of(text));
    if (slots_[slot] != 0) {
        Text &known = texts_[slots_[slot] - 1];
        size_ += text.size() > known.length ? text.size() - known.length : 0;
        known.length = std::max(known.length, text.size());
        return;
    }
    texts_.push_back({end_of(text), text.size(), 0});
    slots_[slot] = static_cast<std::uint32_t>(texts_.size());
    size_ += text.size() + 1;
    if (texts_.size() > slots_.size() / 2)
        grow();
}

void CacheStrings::place()
{
    std::uint32_t next = 0;
    for (Text &text : texts_) {
        text.offset = next;
        next += static_cast<std::uint32_t>(text.length) + 1;
    }
}

std::uint32_t CacheStrings::offset(std::string_view text) const
{
    const Text &known = texts_[slots_[slot_of(end_of(text))] - 1];
    return known.offset + static_cast<std::uint32_t>(known.length - text.size());
}

void CacheStrings::write(std::string &bytes) const
{
    for (const Text &text : texts_) {
        bytes.append(text.end - text.length, text.length);
        bytes.push_back('\0');
    }
}

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
std::vector<std::string_view> subdirectories_of(const std::vector<const LdCacheEntry *> &entries)
{
    std::vector<std::string_view> names;
    for (const LdCacheEntry *entry : entries) {
        if (!entry->subdirectory.empty())
            names.push_back(entry->subdirectory);
    }
    // Stable: of equal ones the first stays, and the next reader of the cache gives them all its bytes.
    std::stable_sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

class Writer final {
public:
    Writer(const std::vector<const LdCacheEntry *> &entries, bool with_extensions)
        : entries_(entries), with_extensions_(with_extensions), subdirectories_(subdirectories_of(entries)),
          strings_(entries.size() + subdirectories_.size())
    {
        for (const LdCacheEntry *entry : entries_) {
            strings_.add(entry->path);
            if (!is_tail(*entry))
                strings_.add(entry->name);
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
        for (const LdCacheEntry *entry : entries_)
            put_entry(bytes, *entry);
        strings_.write(bytes);
        if (with_extensions_)
            put_extensions(bytes);
        return bytes;
    }

private:
    void lay_out()
    {
        strings_at_ = new_header_size + entries_.size() * new_entry_size;
        end_ = strings_at_ + strings_.size();
        if (with_extensions_) {
            extensions_at_ = (end_ + 3) / 4 * 4;
            hwcaps_at_ = extensions_at_ + extensions_header_size + section_count * section_size;
            end_ = hwcaps_at_ + subdirectories_.size() * 4 + generator.size();
        }
        if (end_ > UINT32_MAX)
            throw Error(ErrorKind::Failure, "the loader cache would have more than 4 GiB");
        strings_.place();
    }

    [[nodiscard]] std::uint64_t place_of(std::string_view text) const
    {
        return strings_at_ + strings_.offset(text);
    }

    void put_header(std::string &bytes) const
    {
        bytes.append(new_magic);
        put(bytes, entries_.size());
        put(bytes, strings_.size());
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

    const std::vector<const LdCacheEntry *> &entries_;
    bool with_extensions_;
    std::vector<std::string_view> subdirectories_;
    CacheStrings strings_;
    std::uint64_t strings_at_ = 0;
    std::uint64_t extensions_at_ = 0;
    std::uint64_t hwcaps_at_ = 0;
    std::uint64_t end_ = 0;
};

/**
 * The bytes of an ld.so.cache in the new form (see ld_cache_format.h) with these entries, in this order.
 * @param with_extensions whether to write the extensions section; it must be, if an entry has a subdirectory
 * @throws Error if the result would have 4 GiB, more than its offsets reach
 */
std::string write_ld_cache(const std::vector<const LdCacheEntry *> &entries, bool with_extensions)
{
    return Writer(entries, with_extensions).bytes();
}

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
