// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/driver/driver_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/contains.h"
#include "base/error.h"
#include "base/log.h"
#include "base/path_names.h"
#include "base/text.h"
#include "host/host_file.h"
#include "host/sysroot.h"
#include "kernel/directory_entries.h"
#include "loader/elf_file.h"
#include "nvidia-devices/driver/driver_root.h"
#include "nvidia-devices/driver/library_search.h"
#include "nvidia-devices/driver/library_table.h"
#include "nvidia-devices/driver/named_libraries.h"
#include "nvidia-devices/request/capabilities.h"

namespace ogh::nvidia_devices {

namespace {

/** A program, found in the directories for programs. */
struct ProgramName {
    std::string_view name;
    CapabilityBits brought_by;
};

/** A file that tells a loader about the driver, or holds data for one. */
struct ConfigName {
    std::string_view
        path; ///< below the directories for such files, and below the tree's share: "vulkan/icd.d/…"
    std::string_view standard_base; ///< below which programs look for it: "/etc"
    CapabilityBits brought_by;
};

constexpr CapabilityBits with_utility{Capability::Utility};
constexpr CapabilityBits for_programs_of_compute{Capability::Compute};
constexpr CapabilityBits for_display{Capability::Display};

/** libnvidia-container's (src/nvc_info.c), and those that only nvidia-container-toolkit's CDI generator brings. */
constexpr std::array<ProgramName, 9> programs{{
    {"nvidia-smi", with_utility},
    {"nvidia-debugdump", with_utility},
    {"nvidia-persistenced", with_utility},
    {"nv-fabricmanager", with_utility},
    {"nvidia-imex", with_utility},     // CDI
    {"nvidia-imex-ctl", with_utility}, // CDI
    {"nvidia-cuda-mps-control", for_programs_of_compute},
    {"nvidia-cuda-mps-server", for_programs_of_compute},
    {"nvidia-xconfig", for_display}, // CDI
}};

/** In this order. */
constexpr std::array<const char *, 10> program_places{
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/bin", // the directory of a driver alone, as on GKE
    "/sbin",
    "/opt/bin",
    "/usr/local/nvidia/bin",         // a driver that is one image, as in some virtual machines
    "/run/current-system/sw/bin",    // NixOS
    "/usr/libexec/nvidia/tesla/bin", // Bottlerocket
};

/**
 * What the CDI generator brings. Vulkan's loader knows a driver by any file in its directory, and packages for RPM have
 * the machine in its name, so that those for 64 and for 32 bits can be installed side by side.
 */
constexpr std::array<ConfigName, 13> configs{{
    {"OpenCL/vendors/nvidia.icd", "/etc", for_compute},
    {"vulkan/icd.d/nvidia_icd.json", "/etc", for_graphics},
    {"vulkan/icd.d/nvidia_icd.x86_64.json", "/etc", for_graphics},
    {"vulkan/icd.d/nvidia_icd.aarch64.json", "/etc", for_graphics},
    {"vulkan/icd.d/nvidia_layers.json", "/etc", for_graphics},
    {"vulkan/implicit_layer.d/nvidia_layers.json", "/etc", for_graphics},
    {"glvnd/egl_vendor.d/10_nvidia.json", "/usr/share", for_graphics},
    {"egl/egl_external_platform.d/09_nvidia_wayland2.json", "/usr/share", for_graphics},
    {"egl/egl_external_platform.d/10_nvidia_wayland.json", "/usr/share", for_graphics},
    {"egl/egl_external_platform.d/15_nvidia_gbm.json", "/usr/share", for_graphics},
    {"egl/egl_external_platform.d/20_nvidia_xcb.json", "/usr/share", for_graphics},
    {"egl/egl_external_platform.d/20_nvidia_xlib.json", "/usr/share", for_graphics},
    {"nvidia/nvoptix.bin", "/usr/share", for_graphics},
}};

constexpr std::array<const char *, 7> config_places{
    "/etc",
    "/usr/local/share",
    "/usr/share",
    "/run/opengl-driver/share", // NixOS
    "/usr/local/nvidia/share",  // a driver that is one image, as in some virtual machines
    "/usr/local/nvidia",        // the same, where its directory "vulkan" lies beside the others
    "/",                        // GKE has a directory "vulkan" beside the driver's others
};

/** Below /run; utility brings them. */
constexpr std::array<std::string_view, 2> sockets{"nvidia-persistenced/socket",
                                                  "nvidia-fabricmanager/socket"};

constexpr mode_t anyone_may_execute = 0111;

constexpr size_t max_config = size_t{1} << 18U; // they have a few lines

/**
 * What is empty would be given and do nothing, with success; a script is somebody's wrapper of the program: what it calls
 * is the host's, and not in the container.
 * @param unusable gets what is wrong with one that is there
 * @return whether it is there, and of use
 */
bool add_program_at(const Sysroot &root, const std::string &path, const std::string &name,
                    std::vector<DriverFile> &files, std::string &unusable)
{
    const auto entry = find_file(root, path);
    if (!entry)
        return false;
    DriverFile file{root.on_host(entry->place.path), "bin/" + name, "/usr/bin/" + name};
    if ((entry->mode & anyone_may_execute) == 0) {
        unusable = quote(file.host_path) + " is left out: nobody may execute it";
        return false;
    }
    try {
        const UniqueFd fd = open_host_file(root, entry->place);
        if (fd.valid()) // who may not read a program may still start it
            file.interpreter = read_interpreter(ElfFile(fd.get(), ElfKind::Program));
    } catch (const Error &error) {
        unusable = quote(file.host_path) + " is left out: " + error.what();
        return false;
    }
    files.push_back(std::move(file));
    return true;
}

void add_program(const Sysroot &root, const ProgramName &program, std::vector<DriverFile> &files,
                 Notes &notes)
{
    const std::string name(program.name);
    std::string unusable;
    for (const char *directory : program_places)
        if (add_program_at(root, path_in(directory, name), name, files, unusable))
            return;
    if (!unusable.empty())
        notes.push_back({LogLevel::Warning, unusable});
}

void add_config(const Sysroot &root, const ConfigName &config, std::vector<DriverFile> &files)
{
    for (const char *directory : config_places) {
        const auto entry = find_file(root, path_in(directory, config.path));
        if (!entry)
            continue;
        DriverFile file{root.on_host(entry->place.path), "share/" + std::string(config.path),
                        path_in(std::string(config.standard_base), config.path)};
        if (names_libraries(file.tree_path))
            file.text = read_host_file(root, entry->place.path, max_config).value_or("");
        files.push_back(std::move(file));
        return;
    }
}

/** Read-only would do for talking to it; but engines inside the container want to hand it on, writable. */
void add_socket(const Sysroot &root, std::string_view name, std::vector<DriverFile> &files)
{
    for (const char *directory : {"/run", "/var/run"}) {
        const auto entry = find_entry(root, path_in(directory, name));
        if (!entry || !S_ISSOCK(entry->mode))
            continue;
        DriverFile file{root.on_host(entry->place.path), "run/" + std::string(name), path_in("/run", name)};
        file.kind = Kind::Socket;
        file.read_only = false;
        files.push_back(file);
        return;
    }
}

/**
 * Whether a daemon of this user or of root has its pipes there. Not where something is mounted: anybody may mount a FUSE
 * there, which looks like root's to who does not ask it, and need not answer.
 */
bool is_of_a_daemon(int parent, const std::string &name)
{
    const UniqueFd place(::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct statx directory {};
    struct stat pipe {};
    return ::statx(place.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_UID, &directory) == 0 &&
           (directory.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0 &&
           (directory.stx_uid == 0 || directory.stx_uid == ::geteuid()) &&
           ::fstatat(place.get(), "control", &pipe, AT_SYMLINK_NOFOLLOW) == 0 &&
           (S_ISFIFO(pipe.st_mode) || S_ISSOCK(pipe.st_mode));
}

/**
 * The directory in which the host's MPS daemon has its pipes. Anyone on the host may put something of that name into
 * /tmp, and containers get it writable, as libnvidia-container has it: so it is looked at well.
 */
void add_mps_directory(const Sysroot &root, std::vector<DriverFile> &files)
{
    const std::string name = "nvidia-mps";
    const auto parent = find_entry(root, "/tmp");
    if (!parent || !is_of_a_daemon(parent->place.fd.get(), name))
        return;
    DriverFile directory{root.on_host(path_in(parent->place.path, name)), "run/" + name, "/tmp/" + name};
    directory.kind = Kind::Directory;
    directory.read_only = false;
    files.push_back(directory);
}

constexpr const char *custom_path = "/sys/module/firmware_class/parameters/path";

/** As the kernel has it, Documentation/driver-api/firmware/fw_search_path.rst, but for the administrator's own. */
std::vector<std::string> firmware_directories()
{
    utsname kernel{};
    if (::uname(&kernel) != 0)
        throw SystemError(errno, "cannot ask for the kernel's release");
    const std::string release(std::begin(kernel.release));
    return {"/lib/firmware/updates/" + release, "/lib/firmware/updates", "/lib/firmware/" + release,
            "/lib/firmware", "/firmware"}; // the last in the directory of a driver alone, as on GKE
}

/** The administrator's own, which the kernel takes first; "" if none is set. */
std::string custom_directory(const Sysroot &host)
{
    const std::string path = read_host_file(host, custom_path, PATH_MAX).value_or("");
    return path.substr(0, path.find('\n'));
}

bool is_firmware(std::string_view name)
{
    return name.starts_with("gsp") && name.ends_with(".bin") && is_plain_name(name);
}

std::vector<DriverFile> firmware_in(const Sysroot &root, const std::string &path, const std::string &version)
{
    const std::string below = "firmware/nvidia/" + version + "/";
    std::vector<DriverFile> files;
    const auto directory =
        path.starts_with('/') ? find_entry(root, path_in(path, "nvidia/" + version)) : std::nullopt;
    if (!directory || !S_ISDIR(directory->mode))
        return files;
    const DirectoryListing listing{quote(root.on_host(directory->place.path)), is_firmware, 0,
                                   ErrorKind::BrokenHost};
    for (const DirectoryEntry &each : list_directory(directory->place.fd.get(), listing)) {
        if (const auto file = find_file(root, path_in(directory->place.path, each.name)))
            files.push_back(
                {root.on_host(file->place.path), "share/" + below + each.name, "/lib/" + below + each.name});
    }
    return files;
}

/**
 * Programs, configuration, sockets, and the directory of MPS, as far as they are there.
 * @param version of the driver
 * @param notes gets which programs are there and of no use
 * @throws Error if looking fails
 */
std::vector<DriverFile> find_files(const Sysroot &root, const std::string &version, CapabilityBits wanted,
                                   Notes &notes)
{
    std::vector<DriverFile> files;
    for (const ProgramName &program : programs) {
        if (wanted.has_any(program.brought_by))
            add_program(root, program, files, notes);
    }
    for (const ConfigName &config : configs) {
        if (wanted.has_any(config.brought_by))
            add_config(root, config, files);
    }
    // What the driver does for which program: libcuda and libnvidia-glcore name the file by their version.
    const std::string profiles = "nvidia/nvidia-application-profiles-" + version + "-rc";
    if (wanted.has_any(for_compute_and_graphics))
        add_config(root, {profiles, "/usr/share", for_compute_and_graphics}, files);
    if (wanted.has(Capability::Utility)) {
        for (const std::string_view name : sockets)
            add_socket(root, name, files);
    }
    if (wanted.has_any(for_compute))
        add_mps_directory(root, files);
    return files;
}

/**
 * The firmware of the GPUs' own processor (GSP) for that driver: nvidia/VERSION/gsp*.bin in the first of the directories
 * in which the kernel looks for firmware that has any, or of the driver's root.
 * @param host which has the kernel
 * @throws Error if looking fails
 */
std::vector<DriverFile> find_firmware(const Sysroot &root, const Sysroot &host, const std::string &version)
{
    // The kernel knows nothing of a root for the driver: what it was told is a directory of the host.
    auto files = firmware_in(host, custom_directory(host), version);
    for (const std::string &path : firmware_directories()) {
        if (!files.empty())
            break;
        files = firmware_in(root, path, version);
    }
    return files;
}

/** How many directories a message names. */
constexpr size_t named_directories = 5;

/** A library that was found, and its row in the table. */
struct Found {
    const LibraryName *name;
    DriverLibrary library;
};

/** The libraries that `wanted` brings, in the order of the table. Names in it differ, and so do the files. */
std::vector<Found> find_libraries(LibrarySearch &search, CapabilityBits wanted)
{
    std::vector<Found> all;
    const auto has = [&](std::string_view other) {
        return std::any_of(all.begin(), all.end(),
                           [&](const Found &each) { return each.name->name == other; });
    };
    for (const LibraryName &name : library_names()) {
        if (!wanted.has_any(name.brought_by) || (!name.instead_of.empty() && has(name.instead_of)))
            continue;
        if (auto library = search.find(name))
            all.push_back({&name, std::move(*library)});
    }
    return all;
}

void append(const std::vector<Found> &found, CapabilityBits wanted, std::vector<DriverLibrary> &libraries)
{
    for (const Found &each : found) {
        if (wanted.has_any(each.name->brought_by))
            libraries.push_back(each.library);
    }
}

/** One call of read_driver_files(). */
class FilesReader final {
public:
    FilesReader(const DriverPlaces &places, const std::string &version, const Capabilities &capabilities,
                bool required, Notes &notes)
        : host_(places.sysroot), root_(open_driver_root(places)), version_(version),
          named_(capabilities.named), required_(required), notes_(notes),
          cache_(read_library_cache(root_, notes))
    {
    }

    DriverFiles read(CapabilityBits wanted)
    {
        LibrarySearch search(root_, cache_, native_machine(), version_);
        const auto found = find_libraries(search, wanted);
        drop_what_cannot_work(search, found, wanted);
        DriverFiles result;
        append(found, wanted, result.libraries);
        add_others(search, result.libraries);
        if (wanted.has(Capability::Compat32))
            add_compat32(wanted, result.libraries);
        result.files = find_files(root_, version_, wanted, notes_);
        add_named(search, result);
        say_unusable(search, native_machine());
        if (wanted.has(Capability::Utility)) {
            const auto firmware = find_firmware(root_, host_, version_);
            result.files.insert(result.files.end(), firmware.begin(), firmware.end());
        }
        return result;
    }

private:
    void drop_what_cannot_work(const LibrarySearch &search, const std::vector<Found> &found,
                               CapabilityBits &wanted)
    {
        bool is_any_left = false;
        for (const CapabilityNeed &need : capability_needs()) {
            const auto is_needed = [&](const Found &each) {
                const LibraryName &name = *each.name;
                return contains(need.any_of, name.instead_of.empty() ? name.name : name.instead_of);
            };
            if (!wanted.has(need.capability))
                continue;
            if (std::any_of(found.begin(), found.end(), is_needed) ||
                may_lack(need.capability, files_of(need), search, native_machine(), need.any_of))
                is_any_left = true;
            else
                wanted.remove(need.capability);
        }
        if (!is_any_left && required_)
            throw Error(ErrorKind::BrokenHost,
                        "'all' finds nothing: this host has no library of the driver, such as " +
                            files_of(capability_needs().front()) + searched(search, native_machine()));
    }

    /** "'libnvcuvid.so.555.42.07' or 'libnvidia-encode.so.555.42.07'" */
    [[nodiscard]] std::string files_of(const CapabilityNeed &need) const
    {
        std::string files;
        for (const std::string_view name : need.any_of) {
            if (!name.empty())
                files += (files.empty() ? "" : " or ") + quote(std::string(name) + ".so." + version_);
        }
        return files;
    }

    void add_compat32(CapabilityBits wanted, std::vector<DriverLibrary> &libraries)
    {
        LibrarySearch search(root_, cache_, compat32_machine(), version_);
        const auto found = find_libraries(search, wanted);
        say_unusable(search, compat32_machine());
        // Some distributions have libraries for EGL, which do not depend on the driver's version, in packages apart.
        const bool can_work = std::any_of(found.begin(), found.end(), [](const Found &each) {
            return each.name->version == LibraryVersion::Driver;
        });
        if (!can_work &&
            !may_lack(Capability::Compat32, "32-bit libraries of the driver", search, compat32_machine(), {}))
            return;
        append(found, wanted, libraries);
        add_others(search, libraries);
    }

    /** For 32 bits a driver has not all libraries, and a directory that has those for 64 is looked at as well. */
    void say_unusable(const LibrarySearch &search, const LibraryMachine &machine)
    {
        for (const UnusableLibrary &each : search.unusable()) {
            if (machine.is_64 || !each.reason.is_foreign)
                notes_.push_back(
                    {LogLevel::Warning, quote(each.host_path) + " is left out: " + each.reason.why});
        }
    }

    /** Tables say what a library is for, and not which there may be: the driver is older or newer than they are. */
    void add_others(const LibrarySearch &search, std::vector<DriverLibrary> &libraries)
    {
        for (DriverLibrary &each : search.others()) {
            const auto has_its_name = [&](const DriverLibrary &other) {
                return other.is_32 == each.is_32 && !each.soname.empty() && other.soname == each.soname;
            };
            // A copy that somebody has set aside must not take the place of the library itself.
            if (std::any_of(libraries.begin(), libraries.end(), has_its_name))
                continue;
            notes_.push_back(
                {LogLevel::Info,
                 quote(each.host_path) +
                     " is not known here; it goes with each capability, as part of this driver"});
            libraries.push_back(std::move(each));
        }
    }

    /** Libraries that the files name and no table does, whatever their versions. */
    static void add_named(LibrarySearch &search, DriverFiles &found)
    {
        for (const DriverFile &file : found.files)
            for (const std::string &named : named_libraries(file.text)) {
                const std::string name = file_name_of(named);
                if (find_library(found.libraries, name) != nullptr)
                    continue;
                if (auto library = search.find({name, {}, LibraryVersion::Own}))
                    found.libraries.push_back(std::move(*library));
            }
    }

    /**
     * Something is missing without which a capability cannot work.
     * @param what it is
     * @return whether the capability is to have its other files; if not, it is left out
     * @throws Error if it must be given, or is there for another kernel module than the one that is loaded
     */
    bool may_lack(Capability capability, const std::string &what, const LibrarySearch &search,
                  const LibraryMachine &machine, std::span<const std::string_view> names)
    {
        const std::string needs = quote(name_of(capability)) + " needs " + what;
        const bool is_named = named_.has(capability);
        const std::string elsewhere = found_elsewhere(search, names);
        const UnusableLibrary *unusable = find_unusable(search, names);
        if (unusable != nullptr && unusable->reason.is_foreign && !elsewhere.empty())
            unusable = nullptr;
        const bool is_broken = unusable != nullptr ? !unusable->reason.is_foreign : !elsewhere.empty();
        const std::string text =
            needs + (unusable == nullptr ? ", which this host does not have"
                                         : ", and " + quote(unusable->host_path) +
                                               " cannot be used: " + unusable->reason.why);
        if (required_ && (is_named || is_broken))
            throw Error(ErrorKind::BrokenHost,
                        unusable != nullptr
                            ? text
                            : text + searched(search, machine) + (elsewhere.empty() ? name_root : elsewhere));
        notes_.push_back({LogLevel::Info, text + (is_named ? "" : "; it is left out")});
        return is_named;
    }

    /** One of these libraries; of several the one that another machine's programs cannot use either. */
    static const UnusableLibrary *find_unusable(const LibrarySearch &search,
                                                std::span<const std::string_view> names)
    {
        const UnusableLibrary *found = nullptr;
        for (const UnusableLibrary &each : search.unusable()) {
            if (contains(names, each.name) && (found == nullptr || found->reason.is_foreign))
                found = &each;
        }
        return found;
    }

    /** "; searched: '/usr/lib64', …" */
    [[nodiscard]] std::string searched(const LibrarySearch &search, const LibraryMachine &machine) const
    {
        std::vector<std::string> directories = search.directories();
        if (directories.empty())
            directories = usual_directories(machine);
        directories.resize(std::min(directories.size(), named_directories));
        for (std::string &directory : directories)
            directory = root_.on_host(directory);
        return "; searched: " + quote_list(directories);
    }

    /**
     * Where the loader cache does not lead, or for which other version it is, and what to do about it; "" if it is nowhere.
     * Mostly the driver was updated, and the old module will stay loaded until the next start of the host.
     */
    [[nodiscard]] std::string found_elsewhere(const LibrarySearch &search,
                                              std::span<const std::string_view> names) const
    {
        for (const std::string_view name : names) {
            const std::string file = name.empty() ? "" : search.not_cached(name);
            if (!file.empty())
                return "; there is " + quote(file) + ", where " + quote(root_.on_host("/etc/ld.so.cache")) +
                       " does not lead: run ldconfig on the host";
        }
        for (const std::string_view name : names) {
            const std::string file = name.empty() ? "" : search.other_version(name);
            if (!file.empty())
                return "; there is " + quote(file) +
                       ": the driver's files were changed while its kernel module " + version_ +
                       " is loaded; reboot, or load the new module";
        }
        return "";
    }

    static constexpr const char *name_root =
        "; if the driver's files are elsewhere on this host, name the directory by --driver-root";

    const Sysroot &host_;
    const Sysroot root_;         ///< --driver-root
    const std::string &version_; ///< of the kernel module
    const CapabilityBits named_;
    const bool required_;
    Notes &notes_;
    const std::vector<CachedLibrary> cache_;
};

} // namespace

const DriverLibrary *find_library(const std::vector<DriverLibrary> &libraries, std::string_view name)
{
    const auto found = std::find_if(libraries.begin(), libraries.end(), [&](const DriverLibrary &each) {
        return !each.is_32 && (each.file == name || each.soname == name ||
                               (name.ends_with(".so") && each.file.starts_with(std::string(name) + ".")));
    });
    return found == libraries.end() ? nullptr : &*found;
}

DriverFiles read_driver_files(const DriverPlaces &places, const std::string &version,
                              const Capabilities &capabilities, bool required, Notes &notes)
{
    const CapabilityBits wanted = capabilities.asked() & meant_by_all; // the others bring nodes alone
    if (wanted.is_empty())
        return {};
    // It is no capability by itself: without others it would silently bring nothing.
    if (required && wanted == CapabilityBits{Capability::Compat32})
        throw Error(ErrorKind::Usage,
                    "'compat32' brings the libraries of other capabilities for 32-bit programs; "
                    "ask for one of those as well");
    return FilesReader(places, version, capabilities, required, notes).read(wanted);
}

} // namespace ogh::nvidia_devices
