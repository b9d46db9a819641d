// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "support/elf_image.h"

namespace ogh::test {

/** Puts these behind what `bytes` has. */
template<typename Number> void append(std::string &bytes, std::initializer_list<Number> numbers)
{
    for (const Number number : numbers)
        append_little_endian(bytes, number);
}

/** A library with a section of versions, as the content of a note, and their names behind its SONAME. */
struct Versioned {
    ElfImage elf;
    std::vector<std::vector<std::string>>
        records; ///< the names of each file that is needed, or of each version that is defined

    [[nodiscard]] size_t section_at() const
    {
        const size_t headers = ElfImage::SegmentCount * elf.segment_size() + elf.header_size();
        return headers + elf.note_padding + ElfImage::note(7, "GNU", "").size();
    }

    [[nodiscard]] std::string needed() const { return bytes(DT_VERNEED, DT_VERNEEDNUM, true); }
    [[nodiscard]] std::string defined() const { return bytes(DT_VERDEF, DT_VERDEFNUM, false); }

private:
    [[nodiscard]] std::string bytes(std::uint64_t tag, std::uint64_t count_tag, bool is_needed) const
    {
        ElfImage image = elf;
        std::string names = "libx.so.1";
        image.notes = ElfImage::note(7, "GNU", section(names, is_needed));
        image.soname = names;
        std::string bytes = image.bytes();
        put_entry(bytes, 0, tag, ElfImage::base + section_at());
        put_entry(bytes, 1, count_tag, records.size());
        return bytes;
    }

    /** In place of one that says which libraries are needed. */
    void put_entry(std::string &bytes, size_t which, std::uint64_t tag, std::uint64_t value) const
    {
        ElfImage image = elf;
        std::string unused;
        image.notes = ElfImage::note(7, "GNU", section(unused, tag == DT_VERNEED || tag == DT_VERNEEDNUM));
        const size_t at = image.dynamic_at() + which * image.entry_size();
        if (image.is_64) {
            patch(bytes, at, tag);
            patch(bytes, at + 8, value);
        } else {
            patch(bytes, at, static_cast<std::uint32_t>(tag));
            patch(bytes, at + 4, static_cast<std::uint32_t>(value));
        }
    }

    std::string section(std::string &names, bool is_needed) const
    {
        std::string bytes;
        for (size_t i = 0; i < records.size(); ++i) {
            const auto count = static_cast<std::uint16_t>(records[i].size());
            const std::uint32_t item = is_needed ? 16 : 8;
            const std::uint32_t head = is_needed ? 16 : 20;
            const std::uint32_t next = i + 1 == records.size() ? 0 : head + count * item;
            append<std::uint16_t>(bytes, {1, static_cast<std::uint16_t>(is_needed ? count : 0)});
            if (!is_needed)
                append<std::uint16_t>(bytes, {1, count});
            append<std::uint32_t>(bytes, {1, head, next}); // the file "libc.so.6", or a hash
            for (size_t j = 0; j < records[i].size(); ++j) {
                const std::uint32_t step = j + 1 == records[i].size() ? 0 : item;
                const auto name = static_cast<std::uint32_t>(ElfImage::soname_offset() + names.size() + 1);
                names += '\0' + records[i][j];
                if (is_needed)
                    append<std::uint32_t>(bytes, {0, 0});
                append<std::uint32_t>(bytes, {name, step});
            }
        }
        return bytes;
    }
};

} // namespace ogh::test
