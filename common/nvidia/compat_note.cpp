// SPDX-License-Identifier: Apache-2.0
#include "nvidia/compat_note.h"

#include <elf.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/little_endian.h"
#include "loader/elf_file.h"

namespace ogh {

using nlohmann::json;

namespace {

using namespace std::string_view_literals;

/** Real libraries have 30 to 45. */
constexpr size_t section_limit = 256;

/** A note of NVIDIA's has less than 200 bytes. */
constexpr size_t note_limit = size_t{64} << 10U;

constexpr std::string_view section_name = ".note.cuda.fwd_compatibility\0"sv;
constexpr std::string_view owner = "NVIDIA Corporation\0"sv;

/** What stands in a section's header; of its name, where that is in the section of names. */
struct Section {
    std::uint32_t name = 0;
    std::uint32_t type = 0; ///< SHT_*
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

struct Sections {
    std::vector<Section> all;
    size_t names = 0; ///< which of them has the names
};

/** None if the headers are not as they should be. */
Sections read_sections(const ElfFile &file)
{
    const std::string head = file.read(0, sizeof(Elf64_Ehdr));
    const auto number = [&](size_t at) { return load_little_endian<std::uint16_t>(head, at); };
    const size_t count = number(offsetof(Elf64_Ehdr, e_shnum));
    if (number(offsetof(Elf64_Ehdr, e_shentsize)) != sizeof(Elf64_Shdr) || count > section_limit)
        return {};
    const std::string bytes = file.read(
        load_little_endian<std::uint64_t>(head, offsetof(Elf64_Ehdr, e_shoff)), count * sizeof(Elf64_Shdr));
    if (bytes.size() < count * sizeof(Elf64_Shdr))
        return {};
    Sections sections{{}, number(offsetof(Elf64_Ehdr, e_shstrndx))};
    for (size_t at = 0; at < bytes.size(); at += sizeof(Elf64_Shdr))
        sections.all.push_back(
            {load_little_endian<std::uint32_t>(bytes, at + offsetof(Elf64_Shdr, sh_name)),
             load_little_endian<std::uint32_t>(bytes, at + offsetof(Elf64_Shdr, sh_type)),
             load_little_endian<std::uint64_t>(bytes, at + offsetof(Elf64_Shdr, sh_offset)),
             load_little_endian<std::uint64_t>(bytes, at + offsetof(Elf64_Shdr, sh_size))});
    return sections;
}

bool has_name(const ElfFile &file, const Section &names, const Section &section)
{
    if (section.name > names.size || section_name.size() > names.size - section.name ||
        names.offset > UINT64_MAX - section.name)
        return false;
    return file.read(names.offset + section.name, section_name.size()) == section_name;
}

/** The section with the note; nothing if there is none, or a longer one than there can be. */
std::optional<std::string> read_note_section(const ElfFile &file)
{
    const Sections sections = read_sections(file);
    if (sections.names >= sections.all.size())
        return std::nullopt;
    for (const Section &section : sections.all) {
        if (section.type == SHT_NOTE && section.size <= note_limit &&
            has_name(file, sections.all[sections.names], section))
            return file.read(section.offset, section.size);
    }
    return std::nullopt;
}

/**
 * What the note in the section says (ELF's generic ABI: the sizes of owner and description, a type, and both). With
 * this owner the description is at the same place whether notes are padded to 4 bytes or to 8.
 */
std::optional<std::string_view> description_of(std::string_view section)
{
    constexpr size_t header_size = 12;
    constexpr size_t description_at = 32;
    static_assert(header_size + owner.size() <= description_at);
    if (section.size() < description_at)
        return std::nullopt;
    const auto owner_size = load_little_endian<std::uint32_t>(section, 0);
    const auto size = load_little_endian<std::uint32_t>(section, 4);
    if (owner_size != owner.size() || section.substr(header_size, owner.size()) != owner)
        return std::nullopt;
    section.remove_prefix(description_at);
    if (size > section.size())
        return std::nullopt;
    section = section.substr(0, size);
    const size_t last = section.find_last_not_of('\0'); // the padding may be counted in
    return section.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

std::optional<std::vector<unsigned>> parse_majors(const json &drivers)
{
    if (!drivers.is_array())
        return std::nullopt;
    std::vector<unsigned> majors;
    for (const json &driver : drivers) {
        const auto *major = driver.get_ptr<const json::number_unsigned_t *>();
        if (major == nullptr || *major > UINT_MAX)
            return std::nullopt;
        majors.push_back(static_cast<unsigned>(*major));
    }
    return majors;
}

std::optional<CompatNote> parse_note(std::string_view description)
{
    constexpr const char *drivers_name = "Driver";
    constexpr const char *cuda_name = "CUDA Version";
    const json document = parse_object(description, "the note");
    const json *drivers = find_member(document, drivers_name);
    const json *cuda = find_member(document, cuda_name);
    if ((drivers == nullptr && cuda == nullptr) || (cuda != nullptr && !cuda->is_string()))
        return std::nullopt;
    auto majors = drivers == nullptr ? std::optional(std::vector<unsigned>{}) : parse_majors(*drivers);
    if (!majors)
        return std::nullopt;
    return CompatNote{std::move(*majors), cuda == nullptr ? "" : cuda->get<std::string>()};
}

} // namespace

std::optional<CompatNote> read_compat_note(int fd)
{
    try {
        const ElfFile file(fd);
        const auto section = file.is_64() ? read_note_section(file) : std::nullopt;
        const auto description = section ? description_of(*section) : std::nullopt;
        return description ? parse_note(*description) : std::nullopt;
    } catch (const Error &) {
        return std::nullopt; // no ELF library, cut short, no JSON
    }
}

} // namespace ogh
