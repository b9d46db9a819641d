// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/driver/library_search.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/dotted_version.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path_names.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "kernel/directory_entries.h"
#include "loader/ld_cache.h"
#include "loader/ld_cache_format.h"

namespace ogh::nvidia_devices {

namespace {

constexpr const char *cache_path = "/etc/ld.so.cache";
constexpr size_t max_cache_size = 16UL << 20U; // bytes; ten thousands of libraries make one or two MiB

/** Every library of the driver begins so: a cache has thousands of others, and each is looked at. */
constexpr std::array<std::string_view, 5> beginnings{"libcuda", "libnv", "libGL", "libEGL_", "libvdpau_"};

/** The names that are looked for: "libcuda", "libnvidia-egl-gbm". Most libraries called libGL are libglvnd's. */
std::set<std::string_view> names_without_version()
{
    std::set<std::string_view> names;
    for (const LibraryName &each : library_names()) {
        if (each.instead_of.empty())
            names.insert(each.name.substr(0, each.name.find(".so")));
    }
    return names;
}

std::vector<CachedLibrary> drivers_of(const LdCache &cache)
{
    const std::set<std::string_view> names = names_without_version();
    const auto is_the_drivers = [&](std::string_view name) {
        return std::any_of(beginnings.begin(), beginnings.end(),
                           [&](std::string_view beginning) { return name.starts_with(beginning); }) &&
               names.contains(name.substr(0, name.find(".so")));
    };
    std::vector<CachedLibrary> libraries;
    for (const LdCacheEntry &entry : cache.entries) {
        // What is below glibc-hwcaps runs on some processors alone.
        if (is_the_drivers(entry.name) && entry.path.starts_with('/') && entry.subdirectory.empty())
            libraries.push_back({std::string(entry.name), std::string(entry.path),
                                 entry.flags & ld_cache_format::flags_machine_mask});
    }
    return libraries;
}

/** Its bytes: mostly more than a hundred KiB, read in one go. @throws Error if they cannot be read */
std::optional<std::string> read_cache(const Sysroot &root)
{
    const auto cache = find_entry(root, cache_path);
    const auto directory = cache ? find_entry(root, directory_of(cache->place.path)) : std::nullopt;
    if (!directory)
        return std::nullopt;
    const std::string what = quote(root.on_host(cache_path));
    const UniqueFd fd(::openat(directory->place.fd.get(), file_name_of(cache->place.path).c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!fd.valid() || ::fstat(fd.get(), &status) != 0)
        throw SystemError(errno, "cannot read " + what);
    if (!S_ISREG(status.st_mode))
        throw Error(ErrorKind::BrokenHost, "cannot read " + what + ": it is no plain file");
    return read_all(fd.get(), max_cache_size, what,
                    std::min(static_cast<size_t>(status.st_size), max_cache_size));
}

using namespace ld_cache_format;

#if defined(__x86_64__)
constexpr std::uint16_t this_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t this_machine = EM_AARCH64;
#else
constexpr std::uint16_t this_machine = EM_NONE;
#endif

constexpr DriverMachines machines_x86{
    {EM_X86_64, true, flags_x86_64, "x86_64-linux-gnu", "/lib64/ld-linux-x86-64.so.2"},
    {EM_386, false, 0, "i386-linux-gnu", "/lib/ld-linux.so.2"}, // no machine's bits: i386
};
constexpr DriverMachines machines_arm{
    {EM_AARCH64, true, flags_aarch64, "aarch64-linux-gnu", "/lib/ld-linux-aarch64.so.1"},
    {EM_ARM, false, flags_arm_hard_float, "arm-linux-gnueabihf", "/lib/ld-linux-armhf.so.3"},
};
constexpr DriverMachines no_machines{};

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

std::vector<CachedLibrary> read_library_cache(const Sysroot &root, Notes &notes)
{
    const auto useless = [&](const std::string &why) {
        notes.push_back({LogLevel::Info, why + "; the driver's libraries are looked for in directories"});
        return std::vector<CachedLibrary>();
    };
    std::optional<std::string> bytes;
    try {
        bytes = read_cache(root);
    } catch (const Error &error) {
        return useless(error.what());
    }
    if (!bytes)
        return {};
    const auto parsed = parse_ld_cache(*bytes);
    if (const auto *problem = std::get_if<NoLdCache>(&parsed))
        return useless(quote(root.on_host(cache_path)) + " is ignored: " + problem->why);
    return drivers_of(std::get<LdCache>(parsed));
}

const DriverMachines &driver_machines(std::uint16_t elf_machine)
{
    switch (elf_machine) {
    case EM_X86_64:
        return machines_x86;
    case EM_AARCH64:
        return machines_arm;
    default:
        return no_machines;
    }
}

std::vector<std::string> usual_directories(const LibraryMachine &machine)
{
    if (machine.elf_machine == EM_NONE)
        return {};
    const std::string without_usr = std::string("/lib/") + machine.triplet;
    const std::string multiarch = "/usr" + without_usr; // Debian, Ubuntu
    const std::string current = multiarch + "/nvidia/current";
    if (!machine.is_64)
        return {current,
                multiarch,
                "/usr/lib32/nvidia",
                "/usr/lib32",
                "/run/opengl-driver-32/lib",
                "/usr/lib",
                without_usr,
                "/lib32"};
    return {
        current,                    // Debian
        multiarch,                  //
        "/usr/lib64/nvidia",        // Fedora's third-party packages of some years ago
        "/usr/lib64",               // Red Hat, SUSE, Gentoo
        "/run/opengl-driver/lib",   // NixOS
        "/usr/local/glibc/usr/lib", // Talos
        "/usr/lib/nvidia/tesla",    // Bottlerocket
        "/usr/lib/nvidia",          //
        "/usr/lib",                 // Arch Linux
        without_usr,                // roots whose /lib is no link to /usr/lib
        "/lib64",                   // the directory of a driver alone, as on GKE
        "/lib",                     //
        "/usr/local/lib64",         //
        "/usr/local/lib",           // Talos, older
    };
}

const LibraryMachine &native_machine()
{
    return driver_machines(this_machine).native;
}

const LibraryMachine &compat32_machine()
{
    return driver_machines(this_machine).compat32;
}

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

LibrarySearch::LibrarySearch(const Sysroot &root, const std::vector<CachedLibrary> &cache,
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
    const auto usual = usual_directories(machine);
    for (const std::string &directory : usual)
        add_directory(directory);
    if (!usual.empty())
        add_flavours(directory_of(usual.front()));
}

void LibrarySearch::add_flavours(const std::string &path)
{
    const auto is_flavour = [](std::string_view name) {
        return name.starts_with("tesla-") || name.starts_with("legacy-");
    };
    const DirectoryListing listing{quote(root_.on_host(path)), is_flavour, 0, ErrorKind::BrokenHost};
    const auto directory = find_entry(root_, path);
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
        const auto directory = find_entry(root_, path);
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
            const auto library = find_file(root_, path_in(directory.path, std::string(name) + link));
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
    for (const std::string &path : usual_directories(machine_)) {
        const auto directory = find_entry(root_, path);
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
    auto entry = find_entry(root_, path);
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
        const auto entry = find_entry(root_, path_in(path, subdirectory));
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
    const auto entry = find_file(root_, path);
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
