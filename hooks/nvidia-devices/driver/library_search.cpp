// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/driver/library_search.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <set>

#include "base/dotted_version.h"
#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "kernel/directory_entries.h"

namespace ogh::nvidia_devices {

namespace {

/**
 * Linux 2.3.99, as ElfLibrary::os_version has it. Of libnvidia-tls old drivers have two: the one that says it runs on
 * older kernels is for programs from before there was thread-local storage.
 */
constexpr std::uint32_t oldest_kernel = 0x00020363;

/** Not blocking: a FIFO must not hold up the start of a container. */
UniqueFd open_file(const ResolvedPath &directory, const std::string &file)
{
    return UniqueFd(::openat(directory.fd.get(), file.c_str(),
                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

ReadLibrary read_library_of(int fd, const LibraryMachine &machine)
{
    const auto read = read_elf_library(fd);
    if (const auto *none = std::get_if<NotALibrary>(&read))
        return NotUsable{none->why + "; install the driver's files again"};
    const auto &library = std::get<ElfLibrary>(read);
    if (library.is_64 != machine.is_64)
        return NotUsable{library.is_64 ? "it is for 64-bit programs" : "it is for 32-bit programs", true};
    if (library.machine != machine.elf_machine)
        return NotUsable{"it is for another processor", true};
    return LibraryFile{library, needed_glibc(fd).value_or(GlibcVersions{})};
}

NotUsable cannot_read(int error_number)
{
    return {std::string("it cannot be read (") + std::strerror(error_number) +
            "); whoever runs containers must be able to"};
}

/** What the library in `directory` is; a symlink is none. */
ReadLibrary read_library(const ResolvedPath &directory, const std::string &file,
                         const LibraryMachine &machine)
{
    const UniqueFd fd = open_file(directory, file);
    return fd.valid() ? read_library_of(fd.get(), machine) : cannot_read(errno);
}

bool is_there(const ResolvedPath &directory, const std::string &file)
{
    struct stat status {};
    return ::fstatat(directory.fd.get(), file.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/** Whether `name` is `start`, or `start` with a version behind it. */
bool is_with_version(std::string_view name, std::string_view start)
{
    return name.starts_with(start) && (name.size() == start.size() || name[start.size()] == '.');
}

bool has_row(std::string_view stem)
{
    const auto names = library_names();
    return std::any_of(names.begin(), names.end(),
                       [&](const LibraryName &each) { return each.name == stem; });
}

} // namespace

/** A library, and how its files may be called. */
struct LibrarySearch::WantedLibrary {
    WantedLibrary(const LibraryName &library, const std::string &version)
        : own_version(library.version == LibraryVersion::Own), ending("." + version),
          start(own_version ? library.name.substr(0, library.name.rfind('.')) : library.name),
          file(own_version ? std::string(library.name) : start + ".so" + ending)
    {
        if (!own_version)
            start += ".so";
    }

    /** Whether a link of that name leads to it. */
    [[nodiscard]] bool is_link_name(std::string_view name) const
    {
        return own_version ? name == file : is_with_version(name, start);
    }

    /** Whether what a link leads to is it. */
    [[nodiscard]] bool is_file_name(std::string_view name) const
    {
        return is_plain_name(name) && is_with_version(name, start) && (own_version || name.ends_with(ending));
    }

    bool own_version;
    std::string ending; ///< ".555.42.07"
    std::string start;  ///< "libcuda.so"
    std::string file;   ///< what it is called if nobody has moved it
};

LibrarySearch::LibrarySearch(const DriverRoot &root, const std::vector<CachedLibrary> &cache,
                             const LibraryMachine &machine, const std::string &version)
    : root_(root), cache_(cache), machine_(machine), version_(version)
{
    std::set<std::string> cached;
    for (const CachedLibrary &each : cache) {
        if (each.machine == machine.cache_flags && cached.insert(directory_of(each.path)).second)
            add_directory(directory_of(each.path));
    }
    if (!directories_.empty())
        return;
    for (const char *directory : machine.directories)
        add_directory(directory);
    if (!machine.directories.empty())
        add_flavours(directory_of(machine.directories.front()));
}

void LibrarySearch::add_flavours(const std::string &path)
{
    const auto is_flavour = [](std::string_view name) {
        return name.starts_with("tesla-") || name.starts_with("legacy-");
    };
    const DirectoryListing listing{quote(root_.on_host(path)), is_flavour, 0, ErrorKind::BrokenHost};
    const auto directory = root_.find(path);
    if (!directory || !S_ISDIR(directory->mode))
        return;
    for (const DirectoryEntry &each : list_directory(directory->place.fd.get(), listing))
        add_directory(path_in(path, each.name));
}

std::optional<DriverLibrary> LibrarySearch::find(const LibraryName &library)
{
    const WantedLibrary wanted(library, version_);
    rejected_.reset();
    if (auto found = in_directories(wanted, 0))
        return found;
    if (auto found = through_cache(wanted))
        return found;
    if (!library.subdirectory.empty()) {
        if (auto found = in_subdirectories(wanted, library.subdirectory))
            return found;
    }
    if (rejected_) {
        rejected_->name = library.name;
        unusable_.push_back(*std::move(rejected_));
    }
    return std::nullopt;
}

std::vector<DriverLibrary> LibrarySearch::others() const
{
    const std::string ending = ".so." + version_;
    const auto is_unknown = [&](std::string_view name) {
        return name.starts_with("lib") && name.ends_with(ending) && is_plain_name(name) &&
               !has_row(name.substr(0, name.size() - ending.size()));
    };
    std::vector<DriverLibrary> found;
    std::set<std::string> names; // a tree has each once
    for (const std::string &path : homes_) {
        const auto directory = root_.find(path);
        if (!directory)
            continue;
        const DirectoryListing listing{quote(root_.on_host(path)), is_unknown, 0, ErrorKind::BrokenHost};
        for (const DirectoryEntry &each : list_directory(directory->place.fd.get(), listing)) {
            const auto read = read_library(directory->place, each.name, machine_);
            const auto *library = std::get_if<LibraryFile>(&read);
            const std::string_view soname = library != nullptr ? std::string_view(library->elf.soname) : "";
            // A copy of one that a table names must not come without its capability, or in its place.
            if (library != nullptr && !has_row(soname.substr(0, soname.find(".so"))) &&
                names.insert(each.name).second)
                found.push_back(describe(directory->place, each.name, *library));
        }
    }
    return found;
}

std::vector<std::string> LibrarySearch::directories() const
{
    std::vector<std::string> paths;
    for (const ResolvedPath &directory : directories_)
        paths.push_back(directory.path);
    return paths;
}

std::string LibrarySearch::other_version(std::string_view name) const
{
    constexpr std::array<const char *, 2> links{".so.1", ".so.0"}; // the latter of GLVND's
    const std::string start = std::string(name) + ".so.";
    for (const ResolvedPath &directory : directories_) {
        for (const char *link : links) {
            const auto library = root_.find_file(path_in(directory.path, std::string(name) + link));
            if (!library)
                continue;
            std::string file = file_name_of(library->place.path);
            if (!file.starts_with(start))
                continue;
            const std::string_view version = std::string_view(file).substr(start.size());
            if (version != version_ && is_driver_version(version))
                return file;
        }
    }
    return "";
}

std::string LibrarySearch::not_cached(std::string_view name) const
{
    const std::string file = std::string(name) + ".so." + version_;
    for (const char *path : machine_.directories) {
        const auto directory = root_.find(path);
        const auto is_searched = [&](const ResolvedPath &each) { return each.path == directory->place.path; };
        if (!directory || !S_ISDIR(directory->mode) ||
            std::any_of(directories_.begin(), directories_.end(), is_searched))
            continue;
        if (std::holds_alternative<LibraryFile>(read_library(directory->place, file, machine_)))
            return root_.on_host(path_in(directory->place.path, file));
    }
    return "";
}

/** @return the directory, which may have been there before; nullptr if there is none */
const ResolvedPath *LibrarySearch::add_directory(const std::string &path)
{
    const auto known = [&](const std::string &canonical) -> const ResolvedPath * {
        const auto directory = std::find_if(directories_.begin(), directories_.end(),
                                            [&](const ResolvedPath &each) { return each.path == canonical; });
        return directory == directories_.end() ? nullptr : &*directory;
    };
    if (const ResolvedPath *directory = known(path))
        return directory;
    auto entry = root_.find(path);
    if (!entry || !S_ISDIR(entry->mode))
        return nullptr;
    if (const ResolvedPath *directory = known(entry->place.path))
        return directory;
    directories_.push_back(std::move(entry->place));
    return &directories_.back();
}

std::optional<DriverLibrary> LibrarySearch::in_directories(const WantedLibrary &wanted, size_t first)
{
    for (size_t i = first; i < directories_.size(); ++i) {
        if (auto found = in_directory(directories_[i], wanted))
            return found;
    }
    return std::nullopt;
}

std::optional<DriverLibrary> LibrarySearch::in_directory(const ResolvedPath &directory,
                                                         const WantedLibrary &wanted)
{
    const UniqueFd fd = open_file(directory, wanted.file);
    if (fd.valid())
        return take(directory, wanted.file, read_library_of(fd.get(), machine_), wanted);
    const int error = errno;
    if (error == ELOOP)
        return resolve(path_in(directory.path, wanted.file), wanted);
    if (error != ENOENT && is_there(directory, wanted.file))
        reject(directory, wanted.file, cannot_read(error));
    return std::nullopt;
}

std::optional<DriverLibrary> LibrarySearch::through_cache(const WantedLibrary &wanted)
{
    for (const CachedLibrary &each : cache_) {
        if (each.machine != machine_.cache_flags || !wanted.is_link_name(each.name))
            continue;
        const size_t known = directories_.size();
        if (auto found = resolve(each.path, wanted))
            return found;
        if (auto found = in_directories(wanted, known)) // what the link leads to may lie beside it
            return found;
    }
    return std::nullopt;
}

std::optional<DriverLibrary> LibrarySearch::in_subdirectories(const WantedLibrary &wanted,
                                                              std::string_view subdirectory)
{
    for (const std::string &path : directories()) {
        const auto entry = root_.find(path_in(path, subdirectory));
        if (!entry || !S_ISDIR(entry->mode))
            continue;
        if (auto found = in_directory(entry->place, wanted))
            return found;
    }
    return std::nullopt;
}

/** Follows a link. Its directory is remembered whatever the file is, and so looked at for others. */
std::optional<DriverLibrary> LibrarySearch::resolve(const std::string &path, const WantedLibrary &wanted)
{
    const auto entry = root_.find_file(path);
    if (!entry)
        return std::nullopt;
    const std::string file = file_name_of(entry->place.path);
    const ResolvedPath *directory = add_directory(directory_of(entry->place.path));
    if (directory == nullptr || !wanted.is_file_name(file))
        return std::nullopt;
    return take(*directory, file, read_library(*directory, file, machine_), wanted);
}

/** @param directory where the file itself is, symlinks followed */
std::optional<DriverLibrary> LibrarySearch::take(const ResolvedPath &directory, const std::string &file,
                                                 const ReadLibrary &read, const WantedLibrary &wanted)
{
    const auto *library = std::get_if<LibraryFile>(&read);
    if (library == nullptr)
        reject(directory, file, std::get<NotUsable>(read));
    if (library == nullptr || (library->elf.os_version != 0 && library->elf.os_version < oldest_kernel))
        return std::nullopt;
    DriverLibrary found = describe(directory, file, *library);
    if (!wanted.own_version) {
        homes_.insert(directory.path);
        prefer(directory.path); // after which `directory` is another one
    }
    return found;
}

/** The first that is out of order counts: another machine's may well lie beside this one's. */
void LibrarySearch::reject(const ResolvedPath &directory, const std::string &file, const NotUsable &reason)
{
    if (!rejected_ || (rejected_->reason.is_foreign && !reason.is_foreign))
        rejected_ = {"", root_.on_host(path_in(directory.path, file)), reason};
}

DriverLibrary LibrarySearch::describe(const ResolvedPath &directory, const std::string &file,
                                      const LibraryFile &library) const
{
    return {file, root_.on_host(path_in(directory.path, file)),
            is_plain_name(library.elf.soname) ? library.elf.soname : "", !machine_.is_64,
            library.needed_glibc};
}

void LibrarySearch::prefer(const std::string &path)
{
    const auto directory = std::find_if(directories_.begin(), directories_.end(),
                                        [&](const ResolvedPath &each) { return each.path == path; });
    if (directory != directories_.end())
        std::rotate(directories_.begin(), directory, std::next(directory));
}

} // namespace ogh::nvidia_devices
