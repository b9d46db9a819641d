// SPDX-License-Identifier: Apache-2.0
#include "loader/ld_cache.h"

#include <climits>
#include <optional>

#include "base/little_endian.h"
#include "loader/ld_cache_format.h"

namespace ogh {

using namespace ld_cache_format;

namespace {

std::uint32_t word(std::string_view bytes, size_t at)
{
    return load_little_endian<std::uint32_t>(bytes, at);
}

/** Whether `size` bytes stand at `at`. */
bool has(std::string_view bytes, std::uint64_t at, std::uint64_t size)
{
    return at <= bytes.size() && size <= bytes.size() - at;
}

/** Whether so many entries stand at `at`. */
bool has_entries(std::string_view bytes, size_t at, std::uint64_t count, size_t entry_size)
{
    return at <= bytes.size() && count <= (bytes.size() - at) / entry_size;
}

/** What stands at `at` up to the next NUL; nothing if that is not in the file, or more than `limit` bytes away. */
std::optional<std::string_view> text_at(std::string_view bytes, size_t at, size_t limit)
{
    if (at >= bytes.size())
        return std::nullopt;
    const std::string_view rest = bytes.substr(at, limit + 1);
    const size_t length = rest.find('\0');
    if (length == std::string_view::npos)
        return std::nullopt;
    return rest.substr(0, length);
}

/** The extensions of a cache: of all sections only the hwcaps are of use. */
class Extensions final {
public:
    /**
     * @param file the whole of it, of which the new form begins at `begin`
     * As the loader has it, an error anywhere leaves nothing of them, and of two sections of a kind the last counts.
     */
    Extensions(std::string_view file, size_t begin) : strings_(file.substr(begin))
    {
        const size_t at = word(strings_, new_extensions_at);
        if (at == 0 || at % 4 != 0 || !has(file, at, extensions_header_size) ||
            word(file, at) != extensions_magic)
            return;
        const std::uint32_t count = word(file, at + 4);
        if (!has_entries(file, at + extensions_header_size, count, section_size))
            return;
        std::string_view hwcaps;
        for (std::uint32_t i = 0; i < count; i++) {
            const size_t section = at + extensions_header_size + i * section_size;
            const std::uint32_t offset = word(file, section + 8);
            const std::uint32_t size = word(file, section + 12);
            if (!has(file, offset, size))
                return;
            if (word(file, section) == section_hwcaps)
                hwcaps = offset % 4 == 0 && size % 4 == 0 ? file.substr(offset, size) : std::string_view();
        }
        valid_ = true;
        hwcaps_ = hwcaps;
    }

    [[nodiscard]] bool valid() const { return valid_; }

    /** The glibc-hwcaps name of this number; nothing if there is none. */
    [[nodiscard]] std::optional<std::string_view> subdirectory(std::uint64_t index) const
    {
        if (index >= hwcaps_.size() / 4)
            return std::nullopt;
        const auto name = text_at(strings_, word(hwcaps_, index * 4), NAME_MAX);
        return name && !name->empty() ? name : std::nullopt;
    }

private:
    std::string_view strings_;
    std::string_view hwcaps_;
    bool valid_ = false;
};

/** Name, path and flags stand alike in entries of both forms. */
std::optional<LdCacheEntry> entry_at(std::string_view entry, std::string_view strings)
{
    const auto name = text_at(strings, word(entry, 4), NAME_MAX);
    const auto path = text_at(strings, word(entry, 8), PATH_MAX - 1);
    if (!name || !path)
        return std::nullopt;
    return LdCacheEntry{*name, *path, static_cast<std::int32_t>(word(entry, 0)), 0, 0, {}};
}

std::optional<LdCacheEntry> new_entry_at(std::string_view entry, std::string_view strings,
                                         const Extensions &extensions)
{
    auto read = entry_at(entry, strings);
    if (!read)
        return std::nullopt;
    read->os_version = word(entry, 12);
    read->hwcap = load_little_endian<std::uint64_t>(entry, 16);
    if ((read->hwcap & ~hwcap_level_mask & ~hwcap_index_mask) != hwcap_extension)
        return read;
    const auto subdirectory = extensions.subdirectory(read->hwcap & hwcap_index_mask);
    if (!subdirectory)
        return std::nullopt;
    read->subdirectory = *subdirectory;
    read->hwcap &= hwcap_level_mask;
    return read;
}

void add(LdCache &cache, const std::optional<LdCacheEntry> &entry)
{
    if (entry)
        cache.entries.push_back(*entry);
    else
        cache.left_out++;
}

/** @param begin where in the file the new form begins; its magic is there, and its header */
std::variant<LdCache, NoLdCache> parse_new(std::string_view file, size_t begin)
{
    const std::string_view bytes = file.substr(begin);
    const std::uint32_t count = word(bytes, new_count_at);
    if (!has_entries(bytes, new_header_size, count, new_entry_size))
        return NoLdCache{"it has more entries than would fit into it"};
    const auto byte_order = static_cast<unsigned char>(bytes[new_byte_order_at]);
    if (byte_order != 0 && (byte_order & byte_order_mask) != byte_order_little)
        return NoLdCache{"it is for machines of another byte order"};
    const Extensions extensions(file, begin);
    LdCache cache;
    cache.has_extensions = extensions.valid();
    cache.entries.reserve(count);
    for (std::uint32_t i = 0; i < count; i++)
        add(cache, new_entry_at(bytes.substr(new_header_size + i * new_entry_size), bytes, extensions));
    return cache;
}

/**
 * Where the new form begins behind `end`, the end of the old one's entries: at the next multiple of 8; where 64-bit
 * numbers need no more (i386), of 4, and so does the end itself.
 */
std::optional<size_t> embedded_at(std::string_view file, size_t end)
{
    for (const size_t begin : {(end + 7) / 8 * 8, end}) {
        if (has(file, begin, new_header_size) && file.substr(begin).starts_with(new_magic))
            return begin;
    }
    return std::nullopt;
}

std::variant<LdCache, NoLdCache> parse_old(std::string_view file)
{
    const std::uint32_t count = word(file, old_count_at);
    if (!has_entries(file, old_header_size, count, old_entry_size))
        return NoLdCache{"it has more entries than would fit into it"};
    const size_t end = old_header_size + count * old_entry_size;
    if (const auto begin = embedded_at(file, end))
        return parse_new(file, *begin);
    LdCache cache;
    cache.entries.reserve(count);
    for (size_t at = old_header_size; at < end; at += old_entry_size)
        add(cache, entry_at(file.substr(at), file.substr(end)));
    return cache;
}

} // namespace

std::variant<LdCache, NoLdCache> parse_ld_cache(std::string_view bytes)
{
    const bool is_new = bytes.starts_with(new_magic);
    if (!is_new && !bytes.starts_with(old_magic))
        return NoLdCache{"it is no cache that glibc has written"};
    // A header with nothing behind it is none to the loader either.
    if (bytes.size() <= (is_new ? new_header_size : old_header_size))
        return NoLdCache{"it is cut short"};
    return is_new ? parse_new(bytes, 0) : parse_old(bytes);
}

} // namespace ogh
