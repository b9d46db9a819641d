// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "elf_image.h"

namespace ogh::test {

/**
 * A 64-bit libcuda for forward compatibility: behind what every library has, a section with NVIDIA's note, the section of
 * names, and the headers of both behind an empty one.
 */
struct CompatLibrary {
    ElfImage elf = {};
    std::string section_name = ".note.cuda.fwd_compatibility";
    std::uint32_t type = SHT_NOTE;
    std::string owner = "NVIDIA Corporation";
    std::string description =
        R"({"Format": 1, "CUDA Version": "12.9", "Driver": [535, 550], "Device": [1, 12]})";
    size_t alignment = 4;

    static constexpr size_t section_count = 3;
    enum Section : size_t { None, Note, Names };

    [[nodiscard]] size_t note_at() const { return rounded_up(elf.bytes().size()); }
    [[nodiscard]] size_t names_at() const { return note_at() + note_bytes().size(); }
    [[nodiscard]] size_t headers_at() const { return rounded_up(names_at() + names_bytes().size()); }

    /** The fields of the ELF header that say where section headers are, and how many. */
    static constexpr size_t headers_offset_at = offsetof(Elf64_Ehdr, e_shoff);
    static constexpr size_t header_size_at = offsetof(Elf64_Ehdr, e_shentsize);
    static constexpr size_t count_at = offsetof(Elf64_Ehdr, e_shnum);
    static constexpr size_t names_index_at = offsetof(Elf64_Ehdr, e_shstrndx);

    /** The fields of a section's header. */
    [[nodiscard]] size_t name_at(Section section) const
    {
        return headers_at() + section * sizeof(Elf64_Shdr);
    }
    [[nodiscard]] size_t offset_at(Section section) const
    {
        return name_at(section) + offsetof(Elf64_Shdr, sh_offset);
    }
    [[nodiscard]] size_t size_at(Section section) const
    {
        return name_at(section) + offsetof(Elf64_Shdr, sh_size);
    }

    [[nodiscard]] std::string bytes() const
    {
        std::string bytes = elf.bytes();
        bytes.resize(note_at());
        bytes += note_bytes() + names_bytes();
        bytes.resize(headers_at());
        bytes.append(sizeof(Elf64_Shdr), '\0');
        put_header(bytes, 1, type, note_at(), note_bytes().size());
        put_header(bytes, static_cast<std::uint32_t>(section_name.size() + 2), SHT_STRTAB, names_at(),
                   names_bytes().size());
        patch(bytes, headers_offset_at, std::uint64_t{headers_at()});
        patch(bytes, header_size_at, std::uint16_t{sizeof(Elf64_Shdr)});
        patch(bytes, count_at, static_cast<std::uint16_t>(section_count));
        patch(bytes, names_index_at, static_cast<std::uint16_t>(Names));
        return bytes;
    }

private:
    static size_t rounded_up(size_t size) { return (size + 7) / 8 * 8; }
    [[nodiscard]] std::string note_bytes() const { return ElfImage::note(1, owner, description, alignment); }
    [[nodiscard]] std::string names_bytes() const { return '\0' + section_name + '\0' + ".shstrtab" + '\0'; }

    void put_header(std::string &bytes, std::uint32_t name, std::uint32_t section_type, size_t offset,
                    size_t size) const
    {
        append_little_endian(bytes, name);
        append_little_endian(bytes, section_type);
        // Flags, address, place, size; link and info as one, then alignment and the size of entries.
        for (const size_t number : {size_t{0}, size_t{0}, offset, size, size_t{0}, alignment, size_t{0}})
            append_little_endian(bytes, std::uint64_t{number});
    }
};

} // namespace ogh::test
