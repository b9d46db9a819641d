// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/little_endian.h"

namespace ogh::test {

/** Overwrites what is there. */
template<typename Number> void patch(std::string &bytes, size_t at, Number number)
{
    std::string digits;
    append_little_endian(digits, number);
    bytes.replace(at, digits.size(), digits);
}

/**
 * A shared library of nothing but headers: ELF header, program headers (LOAD, DYNAMIC, NOTE), the ABI note, the
 * dynamic section, its strings. Addresses are offsets plus `base`.
 */
struct ElfImage {
    static constexpr std::uint64_t base = 0x10000;

    /** What it needs, so that ldconfig takes one of 32 bits for a library of libc 6. */
    inline static const std::string libc = "libc.so.6";

    bool is_64 = true;
    std::uint16_t machine = EM_X86_64;
    std::uint32_t processor_flags = 0;
    std::optional<std::string> soname = "libx.so.1";
    std::optional<std::array<std::uint32_t, 4>> abi = std::array<std::uint32_t, 4>{0, 3, 2, 0};
    size_t needed = 2;       ///< entries before the SONAME
    std::string notes;       ///< before the ABI note
    size_t note_padding = 0; ///< between program headers and notes

    [[nodiscard]] size_t header_size() const { return is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr); }
    [[nodiscard]] size_t segment_size() const { return is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr); }
    [[nodiscard]] size_t entry_size() const { return is_64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn); }

    enum Segment : unsigned { Load, Dynamic, Note, SegmentCount };
    [[nodiscard]] size_t segment_at(Segment segment) const
    {
        return header_size() + segment * segment_size();
    }
    [[nodiscard]] size_t notes_at() const { return segment_at(SegmentCount) + note_padding; }
    [[nodiscard]] size_t dynamic_at() const { return notes_at() + notes_bytes().size(); }
    [[nodiscard]] size_t dynamic_size() const { return (needed + (soname ? 3U : 2U)) * entry_size(); }
    [[nodiscard]] size_t strings_at() const { return dynamic_at() + dynamic_size(); }
    [[nodiscard]] static size_t soname_offset() { return libc.size() + 2; }
    [[nodiscard]] size_t soname_at() const { return strings_at() + soname_offset(); }

    /** The fields of program headers that are at different places in the two classes. */
    [[nodiscard]] size_t offset_at(Segment segment) const
    {
        return segment_at(segment) +
               (is_64 ? offsetof(Elf64_Phdr, p_offset) : offsetof(Elf32_Phdr, p_offset));
    }
    [[nodiscard]] size_t size_at(Segment segment) const
    {
        return segment_at(segment) +
               (is_64 ? offsetof(Elf64_Phdr, p_filesz) : offsetof(Elf32_Phdr, p_filesz));
    }
    [[nodiscard]] size_t alignment_at(Segment segment) const
    {
        return segment_at(segment) + (is_64 ? offsetof(Elf64_Phdr, p_align) : offsetof(Elf32_Phdr, p_align));
    }

    /** @param alignment of the contents: 4 or 8 */
    static std::string note(std::uint32_t type, const std::string &name, const std::string &content,
                            size_t alignment = 4)
    {
        std::string bytes;
        append_little_endian(bytes, static_cast<std::uint32_t>(name.size() + 1));
        append_little_endian(bytes, static_cast<std::uint32_t>(content.size()));
        append_little_endian(bytes, type);
        bytes += name + '\0';
        bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
        bytes += content;
        bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
        return bytes;
    }

    [[nodiscard]] std::string bytes() const
    {
        const std::string strings = '\0' + libc + '\0' + soname.value_or("") + '\0';
        const size_t size = strings_at() + strings.size();
        std::string bytes = header();
        put_segment(bytes, PT_LOAD, 0, size, 0x1000);
        put_segment(bytes, PT_DYNAMIC, dynamic_at(), dynamic_size(), 8);
        put_segment(bytes, PT_NOTE, notes_at(), notes_bytes().size(), 4);
        bytes.resize(notes_at());
        bytes += notes_bytes();
        for (size_t i = 0; i < needed; i++)
            put_entry(bytes, DT_NEEDED, 1);
        if (soname)
            put_entry(bytes, DT_SONAME, soname_offset());
        put_entry(bytes, DT_STRTAB, base + strings_at());
        put_entry(bytes, DT_NULL, 0);
        return bytes + strings;
    }

private:
    [[nodiscard]] std::string notes_bytes() const
    {
        if (!abi)
            return notes;
        std::string content;
        for (const std::uint32_t word : *abi)
            append_little_endian(content, word);
        return notes + note(NT_GNU_ABI_TAG, "GNU", content);
    }

    void put_address(std::string &bytes, std::uint64_t address) const
    {
        if (is_64)
            append_little_endian(bytes, address);
        else
            append_little_endian(bytes, static_cast<std::uint32_t>(address));
    }

    [[nodiscard]] std::string header() const
    {
        std::string bytes(ELFMAG, SELFMAG);
        bytes.push_back(is_64 ? ELFCLASS64 : ELFCLASS32);
        bytes.push_back(ELFDATA2LSB);
        bytes.push_back(EV_CURRENT);
        bytes.resize(EI_NIDENT);
        append_little_endian(bytes, std::uint16_t{ET_DYN});
        append_little_endian(bytes, machine);
        append_little_endian(bytes, std::uint32_t{EV_CURRENT});
        put_address(bytes, 0);             // entry point
        put_address(bytes, header_size()); // program headers
        put_address(bytes, 0);             // section headers
        append_little_endian(bytes, processor_flags);
        for (const size_t number :
             {header_size(), segment_size(), size_t{SegmentCount}, size_t{0}, size_t{0}, size_t{0}})
            append_little_endian(bytes, static_cast<std::uint16_t>(number));
        return bytes;
    }

    void put_segment(std::string &bytes, std::uint32_t type, std::uint64_t offset, std::uint64_t size,
                     std::uint64_t alignment) const
    {
        append_little_endian(bytes, type);
        if (is_64)
            append_little_endian(bytes, std::uint32_t{PF_R});
        for (const std::uint64_t number : {offset, base + offset, base + offset, size, size})
            put_address(bytes, number);
        if (!is_64)
            append_little_endian(bytes, std::uint32_t{PF_R});
        put_address(bytes, alignment);
    }

    void put_entry(std::string &bytes, std::uint64_t tag, std::uint64_t value) const
    {
        put_address(bytes, tag);
        put_address(bytes, value);
    }
};

} // namespace ogh::test
