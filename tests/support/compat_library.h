// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "elf_image.h"

namespace ogh::test {

/**
 * A libcuda for forward compatibility: behind what every library has, a section with NVIDIA's note, the section of
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
    [[nodiscard]] size_t headers_offset_at() const
    {
        return elf.is_64 ? offsetof(Elf64_Ehdr, e_shoff) : offsetof(Elf32_Ehdr, e_shoff);
    }
    [[nodiscard]] size_t header_size_at() const
    {
        return elf.is_64 ? offsetof(Elf64_Ehdr, e_shentsize) : offsetof(Elf32_Ehdr, e_shentsize);
    }
    [[nodiscard]] size_t count_at() const { return header_size_at() + 2; }
    [[nodiscard]] size_t names_index_at() const { return header_size_at() + 4; }

    /** The fields of a section's header. */
    [[nodiscard]] size_t name_at(Section section) const { return headers_at() + section * header_size(); }
    [[nodiscard]] size_t offset_at(Section section) const
    {
        return name_at(section) +
               (elf.is_64 ? offsetof(Elf64_Shdr, sh_offset) : offsetof(Elf32_Shdr, sh_offset));
    }
    [[nodiscard]] size_t size_at(Section section) const
    {
        return name_at(section) + (elf.is_64 ? offsetof(Elf64_Shdr, sh_size) : offsetof(Elf32_Shdr, sh_size));
    }

    [[nodiscard]] std::string bytes() const
    {
        std::string bytes = elf.bytes();
        bytes.resize(note_at());
        bytes += note_bytes() + names_bytes();
        bytes.resize(headers_at());
        bytes.append(header_size(), '\0');
        put_header(bytes, 1, type, note_at(), note_bytes().size());
        put_header(bytes, static_cast<std::uint32_t>(section_name.size() + 2), SHT_STRTAB, names_at(),
                   names_bytes().size());
        patch_address(bytes, headers_offset_at(), headers_at());
        patch(bytes, header_size_at(), static_cast<std::uint16_t>(header_size()));
        patch(bytes, count_at(), static_cast<std::uint16_t>(section_count));
        patch(bytes, names_index_at(), static_cast<std::uint16_t>(Names));
        return bytes;
    }

    void patch_address(std::string &bytes, size_t at, std::uint64_t number) const
    {
        if (elf.is_64)
            patch(bytes, at, number);
        else
            patch(bytes, at, static_cast<std::uint32_t>(number));
    }

private:
    static size_t rounded_up(size_t size) { return (size + 7) / 8 * 8; }
    [[nodiscard]] size_t header_size() const { return elf.is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr); }
    [[nodiscard]] std::string note_bytes() const { return ElfImage::note(1, owner, description, alignment); }
    [[nodiscard]] std::string names_bytes() const { return '\0' + section_name + '\0' + ".shstrtab" + '\0'; }

    void put_header(std::string &bytes, std::uint32_t name, std::uint32_t section_type, size_t offset,
                    size_t size) const
    {
        append_little_endian(bytes, name);
        append_little_endian(bytes, section_type);
        // Flags, address, place, size; link and info, always of 4 bytes, then alignment and the size of entries.
        for (const size_t number : {size_t{0}, size_t{0}, offset, size})
            put_address(bytes, number);
        append_little_endian(bytes, std::uint64_t{0});
        for (const size_t number : {alignment, size_t{0}})
            put_address(bytes, number);
    }

    void put_address(std::string &bytes, std::uint64_t number) const
    {
        bytes.append(elf.is_64 ? 8 : 4, '\0');
        patch_address(bytes, bytes.size() - (elf.is_64 ? 8 : 4), number);
    }
};

} // namespace ogh::test
