// SPDX-License-Identifier: Apache-2.0
#include "loader/elf_library.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <optional>

#include "base/error.h"
#include "base/little_endian.h"
#include "loader/elf_file.h"

namespace ogh {

namespace {

constexpr size_t note_header_size = 12;
constexpr size_t note_limit = 1024; ///< bytes of one segment of notes that are looked at
constexpr size_t note_segment_limit = 4;

bool can_be_a_name(std::string_view soname)
{
    return std::none_of(soname.begin(), soname.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return c == '/' || byte < 0x20 || byte == 0x7F;
    });
}

std::string read_soname(const ElfFile &file)
{
    constexpr std::array<std::uint64_t, 2> tags{DT_STRTAB, DT_SONAME};
    const auto dynamic = read_dynamic(file, tags);
    const auto &strings = dynamic[0];
    const auto &name = dynamic[1];
    if (!name)
        return "";
    if (!strings || *name > UINT64_MAX - *strings)
        refuse_library("its SONAME lies outside of it");
    const auto offset = file.offset_of(*strings + *name);
    if (!offset)
        refuse_library("its SONAME lies outside of it");
    std::string soname = file.read(*offset, NAME_MAX + 1);
    const size_t length = soname.find('\0');
    if (length == std::string::npos)
        refuse_library(soname.size() > NAME_MAX ? "its SONAME is longer than a file name can be"
                                                : "it is cut short");
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
