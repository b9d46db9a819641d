// SPDX-License-Identifier: Apache-2.0
#include "nvidia/cuda_compat.h"

#include <elf.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>

#include "base/contains.h"
#include "base/dotted_version.h"
#include "base/error.h"
#include "base/json.h"
#include "base/little_endian.h"
#include "base/text.h"
#include "kernel/directory_entries.h"
#include "kernel/inode.h"
#include "loader/elf_file.h"

namespace ogh {

namespace {

using namespace std::string_view_literals;

using nlohmann::json;

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

/** Real directories have 10 to 20 such names, links included. */
constexpr size_t max_files = 256;

constexpr std::string_view cuda_stem = "libcuda";

/** "libcuda" and "575.51.03" of "libcuda.so.575.51.03". */
struct FileName {
    std::string_view stem;
    std::string_view version; ///< digits and dots, at least one
};

std::optional<FileName> parse_file_name(std::string_view name)
{
    constexpr std::string_view stem_letters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-";
    constexpr std::string_view ending = ".so.";
    const size_t stem = std::min(name.find_first_not_of(stem_letters), name.size());
    if (!name.starts_with("lib") || !name.substr(stem).starts_with(ending))
        return std::nullopt;
    const std::string_view version = name.substr(stem + ending.size());
    if (version.empty() || version.find_first_not_of("0123456789.") != std::string_view::npos)
        return std::nullopt;
    return FileName{name.substr(0, stem), version};
}

/** Whether it names another version, or none, of what the file is: no library takes another one's place. */
bool goes_with(std::string_view soname, std::string_view stem)
{
    const auto name = parse_file_name(soname);
    return name ? name->stem == stem : soname == std::string(stem) + ".so";
}

/** By which name programs, and the other libraries, ask for it; "" if there is no such name. */
std::string soname_of(int fd, std::string_view stem)
{
    const auto result = read_elf_library(fd);
    const auto *library = std::get_if<ElfLibrary>(&result);
    if (library == nullptr || !library->is_64 || !goes_with(library->soname, stem))
        return "";
    return library->soname;
}

/** Those files that are called libNAME.so.VERSION, as whatever. */
std::vector<std::string> list_files(const ImageReader &reader, int directory, const std::string &path)
{
    const auto is_wanted = [](std::string_view name) { return parse_file_name(name).has_value(); };
    std::vector<std::string> files;
    for (DirectoryEntry &entry :
         reader.list(directory, {quote(path) + " in the container", is_wanted, max_files}))
        files.push_back(std::move(entry.name));
    return files;
}

/** The version of the one libcuda among them; "" if there is none. `libcuda.so.1` is a link to it. */
std::string find_version(const std::vector<std::string> &files, const std::string &path)
{
    std::vector<std::string> versions;
    for (const std::string &file : files) {
        const auto name = parse_file_name(file);
        if (name->stem == cuda_stem && is_driver_version(name->version))
            versions.emplace_back(name->version);
    }
    if (versions.size() > 1)
        throw Error(ErrorKind::Failure,
                    quote(path) + " has libcuda in " + std::to_string(versions.size()) + " versions");
    return versions.empty() ? "" : versions.front();
}

std::optional<CudaCompat> read_directory(int directory, const ImageReader &reader, const std::string &path)
{
    const auto files = list_files(reader, directory, path);
    CudaCompat compat;
    compat.version = find_version(files, path);
    if (compat.version.empty())
        return std::nullopt;
    bool has_cuda = false;
    const std::string start = path + "/";
    for (const std::string &file : files) {
        const auto name = parse_file_name(file);
        const auto fd =
            name->version == compat.version ? open_image_file(reader, start + file) : std::nullopt;
        const std::string soname = fd ? soname_of(fd->get(), name->stem) : "";
        if (soname.empty())
            continue;
        compat.libraries.push_back({soname, file});
        if (name->stem == cuda_stem) {
            has_cuda = soname != file; // nobody asks for one of that version
            if (auto said = read_compat_note(fd->get())) {
                compat.drivers = std::move(said->drivers);
                compat.cuda = std::move(said->cuda);
            }
        }
    }
    if (!has_cuda)
        throw Error(ErrorKind::Failure, quote(path + "/libcuda.so." + compat.version) +
                                            " is no library that programs could ask for");
    return compat;
}

} // namespace

std::optional<UniqueFd> open_image_file(const ImageReader &reader, const std::string &path)
{
    try {
        const std::string what = quote(path) + " in the container";
        const auto found = reader.find(path);
        if (!found)
            return std::nullopt;
        return reader.open(found->get(), Inode::of(found->get(), what), what);
    } catch (const Error &) {
        return std::nullopt; // what is no plain file, or may not be read; links that lead in a circle
    }
}

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

std::optional<CudaCompat> read_cuda_compat(const ImageReader &reader, Notes &notes, const std::string &path)
{
    const std::string left_out = "CUDA forward compatibility: what the image brings is left out: ";
    try {
        const auto directory = reader.find(path);
        if (!directory)
            return std::nullopt;
        auto compat = read_directory(directory->get(), reader, path);
        if (!compat)
            notes.push_back({LogLevel::Info, left_out + quote(path) + " has no libcuda"});
        return compat;
    } catch (const Error &error) {
        notes.push_back({LogLevel::Warning, left_out + error.what()});
        return std::nullopt;
    }
}

bool is_preferred(const CudaCompat &compat, const std::string &version)
{
    if (!is_driver_version(compat.version) || !is_driver_version(version))
        return false;
    const auto theirs = DottedVersion::parse(compat.version).value();
    const auto ours = DottedVersion::parse(version).value();
    if (!compat.drivers)
        return theirs.major() > ours.major();
    const auto &drivers = *compat.drivers;
    return contains(drivers, ours.major()) && theirs > ours;
}

bool has_newer_cuda(const CudaCompat &compat, const std::string &version)
{
    const auto theirs = DottedVersion::parse(compat.cuda);
    const auto ours = DottedVersion::parse(version);
    return theirs && ours && *theirs > *ours;
}

} // namespace ogh
