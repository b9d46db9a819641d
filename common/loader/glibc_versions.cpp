// SPDX-License-Identifier: Apache-2.0
#include "loader/glibc_versions.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "base/little_endian.h"
#include "loader/elf_file.h"

namespace ogh {

namespace {

constexpr std::string_view prefix = "GLIBC_";

/** The whole of glibc's own section has 1.5 KiB, and that of a library which needs much less. */
constexpr size_t section_limit = size_t{32} << 10U;
constexpr size_t version_limit = 256; ///< glibc itself has 45
constexpr size_t name_limit = 64;     ///< of glibc's; others may be longer, and do not matter

[[noreturn]] void refuse_versions()
{
    throw Error(ErrorKind::NotAvailable, "its symbol versions lie outside of it");
}

/**
 * The two kinds of sections are alike: records, each with a list of names. The structures are the same for both classes
 * of ELF.
 */
struct Layout {
    std::uint64_t section_tag, count_tag; ///< DT_*
    size_t size;                          ///< of a record
    size_t names, next;                   ///< its fields, both relative to it
    size_t name_size;                     ///< of an item of the list
    size_t name, next_name;               ///< its fields: in the strings, and relative to it
};

constexpr Layout need_layout{DT_VERNEED,
                             DT_VERNEEDNUM,
                             sizeof(Elf64_Verneed),
                             offsetof(Elf64_Verneed, vn_aux),
                             offsetof(Elf64_Verneed, vn_next),
                             sizeof(Elf64_Vernaux),
                             offsetof(Elf64_Vernaux, vna_name),
                             offsetof(Elf64_Vernaux, vna_next)};
constexpr Layout definition_layout{DT_VERDEF,
                                   DT_VERDEFNUM,
                                   sizeof(Elf64_Verdef),
                                   offsetof(Elf64_Verdef, vd_aux),
                                   offsetof(Elf64_Verdef, vd_next),
                                   sizeof(Elf64_Verdaux),
                                   offsetof(Elf64_Verdaux, vda_name),
                                   offsetof(Elf64_Verdaux, vda_next)};

/** One of the sections, and the strings that its names are in. */
class Section final {
public:
    Section(const ElfFile &file, const Layout &layout) : file_(file), layout_(layout)
    {
        const std::array<std::uint64_t, 3> tags{DT_STRTAB, layout.section_tag, layout.count_tag};
        const auto dynamic = read_dynamic(file, tags);
        if (!dynamic[1])
            return;
        const auto offset = file.offset_of(*dynamic[1]);
        if (!dynamic[0] || !dynamic[2] || !offset)
            refuse_versions();
        strings_ = *dynamic[0];
        count_ = *dynamic[2];
        bytes_ = file.read(*offset, section_limit);
    }

    [[nodiscard]] GlibcVersions read() const
    {
        GlibcVersions versions;
        size_t left = version_limit;
        std::uint64_t record = 0;
        for (std::uint64_t i = 0; i < count_; ++i) {
            check(record, layout_.size);
            add_names(record + number(record + layout_.names), left, versions);
            const std::uint64_t next = number(record + layout_.next);
            if (next == 0)
                break;
            record += next;
        }
        return versions;
    }

private:
    void add_names(std::uint64_t item, size_t &left, GlibcVersions &versions) const
    {
        for (;;) {
            check(item, layout_.name_size);
            if (left-- == 0)
                refuse_versions();
            versions.add(name_at(number(item + layout_.name)));
            const std::uint64_t next = number(item + layout_.next_name);
            if (next == 0)
                return;
            item += next;
        }
    }

    /** What `at` was added up from are 32 bits each, of places that have been checked: it has not wrapped. */
    void check(std::uint64_t at, size_t size) const
    {
        if (at > bytes_.size() || size > bytes_.size() - at)
            refuse_versions();
    }

    [[nodiscard]] std::uint32_t number(std::uint64_t at) const
    {
        return load_little_endian<std::uint32_t>(bytes_, static_cast<size_t>(at));
    }

    [[nodiscard]] std::string name_at(std::uint32_t place) const
    {
        const auto offset = place > UINT64_MAX - strings_ ? std::nullopt : file_.offset_of(strings_ + place);
        if (!offset)
            refuse_versions();
        const std::string name = file_.read(*offset, name_limit);
        return name.substr(0, name.find('\0'));
    }

    const ElfFile &file_;
    const Layout &layout_;
    std::uint64_t strings_ = 0;
    std::uint64_t count_ = 0; ///< of the records
    std::string bytes_;
};

std::optional<GlibcVersions> read_versions(int fd, const Layout &layout)
{
    try {
        const ElfFile file(fd);
        return Section(file, layout).read();
    } catch (const Error &) {
        return std::nullopt; // no ELF file, or one that is cut short: it says nothing
    }
}

} // namespace

void GlibcVersions::add(std::string_view name)
{
    if (!name.starts_with(prefix) || name == "GLIBC_PRIVATE")
        return;
    constexpr size_t most = 3;
    if (const auto version = DottedVersion::parse(name.substr(prefix.size()), most))
        highest = std::max(highest, *version);
    else
        marks.emplace(name);
}

std::string GlibcVersions::lacking(const GlibcVersions &needed) const
{
    if (needed.highest > highest)
        return std::string(prefix) + needed.highest.text();
    const auto mark = std::find_if(needed.marks.begin(), needed.marks.end(),
                                   [&](const std::string &each) { return !marks.contains(each); });
    return mark == needed.marks.end() ? "" : *mark;
}

std::optional<GlibcVersions> needed_glibc(int fd)
{
    return read_versions(fd, need_layout);
}

std::optional<GlibcVersions> defined_glibc(int fd)
{
    auto versions = read_versions(fd, definition_layout);
    return versions == GlibcVersions{} ? std::nullopt : versions;
}

} // namespace ogh
