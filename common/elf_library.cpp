// SPDX-License-Identifier: Apache-2.0
#include "elf_library.h"

#include <elf.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <optional>

#include "elf_file.h"
#include "error.h"
#include "little_endian.h"

namespace ogh {

namespace {

/** A dynamic section has an entry for each library that is needed; the largest known have fewer than 150. */
constexpr size_t dynamic_limit = 512;
constexpr size_t dynamic_step = 64; ///< entries read at once

constexpr size_t note_header_size = 12;
constexpr size_t note_limit = 1024; ///< bytes of one segment of notes that are looked at
constexpr size_t note_segment_limit = 4;

[[noreturn]] void refuse(const char *why)
{
    throw Error(ExitCode::NotAvailable, why);
}

/** What the dynamic section says of the SONAME; both are addresses, or distances of them. */
struct Dynamic {
    std::optional<std::uint64_t> strings;
    std::optional<std::uint64_t> soname;
    bool ended = false;

    [[nodiscard]] bool is_complete() const { return ended || (strings && soname); }
};

/** Takes in the entries in `bytes`; as with ldconfig the first one of a kind counts. */
void scan(const ElfFile &file, std::string_view bytes, Dynamic &dynamic)
{
    const size_t each = 2 * file.address_size();
    for (size_t at = 0; at < bytes.size() && !dynamic.is_complete(); at += each) {
        const std::uint64_t tag = file.address_at(bytes, at);
        const std::uint64_t value = file.address_at(bytes, at + file.address_size());
        if (tag == DT_NULL)
            dynamic.ended = true;
        else if (tag == DT_STRTAB && !dynamic.strings)
            dynamic.strings = value;
        else if (tag == DT_SONAME && !dynamic.soname)
            dynamic.soname = value;
    }
}

Dynamic read_dynamic(const ElfFile &file)
{
    const auto &segments = file.segments();
    const auto segment = std::find_if(segments.begin(), segments.end(),
                                      [](const ElfSegment &each) { return each.type == PT_DYNAMIC; });
    if (segment == segments.end())
        refuse("it has no dynamic section");
    const size_t each = 2 * file.address_size();
    const std::uint64_t count = segment->size / each;
    Dynamic dynamic;
    for (std::uint64_t done = 0; done < count && !dynamic.is_complete(); done += dynamic_step) {
        if (done >= dynamic_limit)
            refuse("its dynamic section is too long");
        const size_t size = std::min<std::uint64_t>(dynamic_step, count - done) * each;
        const std::uint64_t offset =
            segment->offset + done * each; // cannot wrap: the first part has been read
        const std::string bytes = file.read(offset, size);
        if (bytes.size() < size)
            refuse("it is cut short");
        scan(file, bytes, dynamic);
    }
    return dynamic;
}

/** Where in the file the byte lies that will be at `address`. */
std::optional<std::uint64_t> offset_of(const ElfFile &file, std::uint64_t address)
{
    for (const ElfSegment &segment : file.segments()) {
        if (segment.type == PT_LOAD && address >= segment.address && address - segment.address < segment.size)
            return segment.offset + (address - segment.address); // ElfFile has seen that this is in the file
    }
    return std::nullopt;
}

bool can_be_a_name(std::string_view soname)
{
    return std::none_of(soname.begin(), soname.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return c == '/' || byte < 0x20 || byte == 0x7F;
    });
}

std::string read_soname(const ElfFile &file)
{
    const Dynamic dynamic = read_dynamic(file);
    if (!dynamic.soname)
        return "";
    if (!dynamic.strings || *dynamic.soname > UINT64_MAX - *dynamic.strings)
        refuse("its SONAME lies outside of it");
    const auto offset = offset_of(file, *dynamic.strings + *dynamic.soname);
    if (!offset)
        refuse("its SONAME lies outside of it");
    std::string soname = file.read(*offset, NAME_MAX + 1);
    const size_t length = soname.find('\0');
    if (length == std::string::npos)
        refuse(soname.size() > NAME_MAX ? "its SONAME is longer than a file name can be" : "it is cut short");
    soname.resize(length);
    return can_be_a_name(soname) ? soname : "";
}

std::uint32_t rounded_up(std::uint32_t size, std::uint64_t alignment)
{
    return alignment == 8 ? (size + 7) & ~7U : (size + 3) & ~3U;
}

/** The ABI note (name "GNU", type 1): four words, of which ldconfig keeps a byte each. */
std::optional<std::uint32_t> abi_of(std::string_view note)
{
    constexpr std::string_view header("\4\0\0\0\20\0\0\0\1\0\0\0GNU\0", 16);
    if (!note.starts_with(header) || note.size() < header.size() + 16)
        return std::nullopt;
    std::uint32_t version = 0;
    for (size_t i = 0; i < 4; i++)
        version = (version << 8U) | static_cast<unsigned char>(note[header.size() + i * 4]);
    return version;
}

std::optional<std::uint32_t> find_abi(std::string_view notes, std::uint64_t alignment)
{
    while (notes.size() >= note_header_size) {
        if (const auto abi = abi_of(notes))
            return abi;
        const auto name_size = load_little_endian<std::uint32_t>(notes, 0);
        const auto size = load_little_endian<std::uint32_t>(notes, 4);
        if (name_size > notes.size() || size > notes.size())
            return std::nullopt;
        // Both are small now: nothing can overflow.
        const size_t all = rounded_up(rounded_up(note_header_size + name_size, alignment) + size, alignment);
        notes.remove_prefix(std::min(all, notes.size()));
    }
    return std::nullopt;
}

/** Notes that cannot be read do not matter: a library without this one runs on every kernel. */
std::uint32_t read_os_version(const ElfFile &file)
{
    size_t seen = 0;
    for (const ElfSegment &segment : file.segments()) {
        if (segment.type != PT_NOTE || seen == note_segment_limit)
            continue;
        seen++;
        const size_t size = std::min<std::uint64_t>(segment.size, note_limit);
        if (segment.offset > static_cast<std::uint64_t>(INT64_MAX) - size)
            continue;
        if (const auto abi = find_abi(file.read(segment.offset, size), segment.alignment))
            return *abi;
    }
    return 0;
}

} // namespace

std::variant<ElfLibrary, NotALibrary> read_elf_library(int fd)
{
    try {
        const ElfFile file(fd);
        return ElfLibrary{file.is_64(), file.machine(), file.processor_flags(), read_soname(file),
                          read_os_version(file)};
    } catch (const Error &error) {
        return NotALibrary{error.what()};
    }
}

} // namespace ogh
