// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/driver/file_search.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "host/host_file.h"
#include "kernel/directory_entries.h"
#include "loader/elf_file.h"
#include "nvidia-devices/driver/named_libraries.h"

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
bool add_program_at(const DriverRoot &root, const std::string &path, const std::string &name,
                    std::vector<DriverFile> &files, std::string &unusable)
{
    const auto entry = root.find_file(path);
    if (!entry)
        return false;
    DriverFile file{root.on_host(entry->place.path), "bin/" + name, "/usr/bin/" + name};
    if ((entry->mode & anyone_may_execute) == 0) {
        unusable = quote(file.host_path) + " is left out: nobody may execute it";
        return false;
    }
    try {
        const UniqueFd fd = root.open_file(entry->place.path);
        if (fd.valid()) // who may not read a program may still start it
            file.interpreter = read_interpreter(ElfFile(fd.get(), ElfKind::Program));
    } catch (const Error &error) {
        unusable = quote(file.host_path) + " is left out: " + error.what();
        return false;
    }
    files.push_back(std::move(file));
    return true;
}

void add_program(const DriverRoot &root, const ProgramName &program, std::vector<DriverFile> &files,
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

void add_config(const DriverRoot &root, const ConfigName &config, std::vector<DriverFile> &files)
{
    for (const char *directory : config_places) {
        const auto entry = root.find_file(path_in(directory, config.path));
        if (!entry)
            continue;
        DriverFile file{root.on_host(entry->place.path), "share/" + std::string(config.path),
                        path_in(std::string(config.standard_base), config.path)};
        if (names_libraries(file.tree_path))
            file.text = read_host_file(root.sysroot(), entry->place.path, max_config).value_or("");
        files.push_back(std::move(file));
        return;
    }
}

/** Read-only would do for talking to it; but engines inside the container want to hand it on, writable. */
void add_socket(const DriverRoot &root, std::string_view name, std::vector<DriverFile> &files)
{
    for (const char *directory : {"/run", "/var/run"}) {
        const auto entry = root.find(path_in(directory, name));
        if (!entry || !S_ISSOCK(entry->mode))
            continue;
        DriverFile file{root.on_host(entry->place.path), "run/" + std::string(name), path_in("/run", name)};
        file.kind = Kind::Socket;
        file.read_only = false;
        files.push_back(file);
        return;
    }
}

/** Whether a daemon of this user or of root has its pipes there. */
bool is_of_a_daemon(int parent, const std::string &name)
{
    struct stat directory {};
    struct stat pipe {};
    return ::fstatat(parent, name.c_str(), &directory, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(directory.st_mode) && (directory.st_uid == 0 || directory.st_uid == ::geteuid()) &&
           ::fstatat(parent, (name + "/control").c_str(), &pipe, AT_SYMLINK_NOFOLLOW) == 0 &&
           (S_ISFIFO(pipe.st_mode) || S_ISSOCK(pipe.st_mode));
}

/**
 * The directory in which the host's MPS daemon has its pipes. Anyone on the host may put something of that name into
 * /tmp, and containers get it writable, as libnvidia-container has it: so it is looked at well.
 */
void add_mps_directory(const DriverRoot &root, std::vector<DriverFile> &files)
{
    const std::string name = "nvidia-mps";
    const auto parent = root.find("/tmp");
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

std::vector<DriverFile> firmware_in(const DriverRoot &root, const std::string &path,
                                    const std::string &version)
{
    const std::string below = "firmware/nvidia/" + version + "/";
    std::vector<DriverFile> files;
    const auto directory =
        path.starts_with('/') ? root.find(path_in(path, "nvidia/" + version)) : std::nullopt;
    if (!directory || !S_ISDIR(directory->mode))
        return files;
    const DirectoryListing listing{quote(root.on_host(directory->place.path)), is_firmware, 0,
                                   ErrorKind::BrokenHost};
    for (const DirectoryEntry &each : list_directory(directory->place.fd.get(), listing)) {
        if (const auto file = root.find_file(path_in(directory->place.path, each.name)))
            files.push_back(
                {root.on_host(file->place.path), "share/" + below + each.name, "/lib/" + below + each.name});
    }
    return files;
}

} // namespace

std::vector<DriverFile> find_files(const DriverRoot &root, const std::string &version, CapabilityBits wanted,
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

std::vector<DriverFile> find_firmware(const DriverRoot &root, const Sysroot &host, const std::string &version)
{
    // The kernel knows nothing of a root for the driver: what it was told is a directory of the host.
    auto files = firmware_in(DriverRoot(host), custom_directory(host), version);
    for (const std::string &path : firmware_directories()) {
        if (!files.empty())
            break;
        files = firmware_in(root, path, version);
    }
    return files;
}

} // namespace ogh::nvidia_devices
