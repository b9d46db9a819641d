// SPDX-License-Identifier: Apache-2.0
#include "nvidia/cuda_compat.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "base/contains.h"
#include "base/dotted_version.h"
#include "base/error.h"
#include "base/text.h"
#include "kernel/directory_entries.h"
#include "loader/elf_library.h"
#include "nvidia/compat_note.h"
#include "nvidia/image_file.h"

namespace ogh {

namespace {

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
    for (const std::string &file : files) {
        const auto name = parse_file_name(file);
        const auto fd =
            name->version == compat.version ? open_image_file(reader, path + "/" + file) : std::nullopt;
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
