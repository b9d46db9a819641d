// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/driver/file_search.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path_names.h"
#include "nvidia-devices/driver/file_table.h"

namespace ogh::nvidia_devices {

namespace {

constexpr mode_t anyone_may_execute = 0111;

void add_program(const DriverRoot &root, const ProgramName &program, std::vector<DriverFile> &files)
{
    const std::string name(program.name);
    for (const char *folder : program_folders()) {
        const auto entry = root.find_file(path_in(folder, name));
        if (!entry || (entry->mode & anyone_may_execute) == 0)
            continue;
        files.push_back({root.on_host(entry->place.path), "bin/" + name, "/usr/bin/" + name});
        return;
    }
}

void add_config(const DriverRoot &root, const ConfigName &config, std::vector<DriverFile> &files)
{
    for (const char *folder : config_folders()) {
        const auto entry = root.find_file(path_in(folder, config.path));
        if (!entry)
            continue;
        files.push_back({root.on_host(entry->place.path), "share/" + std::string(config.path),
                         path_in(std::string(config.standard_base), config.path)});
        return;
    }
}

/** Read-only would do for talking to it; but engines inside the container want to hand it on, writable. */
void add_socket(const DriverRoot &root, std::string_view name, std::vector<DriverFile> &files)
{
    for (const char *folder : {"/run", "/var/run"}) {
        const auto entry = root.find(path_in(folder, name));
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
    struct stat folder {};
    struct stat pipe {};
    return ::fstatat(parent, name.c_str(), &folder, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(folder.st_mode) &&
           (folder.st_uid == 0 || folder.st_uid == ::geteuid()) &&
           ::fstatat(parent, (name + "/control").c_str(), &pipe, AT_SYMLINK_NOFOLLOW) == 0 &&
           (S_ISFIFO(pipe.st_mode) || S_ISSOCK(pipe.st_mode));
}

/**
 * The folder in which the host's MPS daemon has its pipes. Anyone on the host may put something of that name into
 * /tmp, and containers get it writable, as libnvidia-container has it: so it is looked at well.
 */
void add_mps_folder(const DriverRoot &root, std::vector<DriverFile> &files)
{
    const std::string name = "nvidia-mps";
    const auto parent = root.find("/tmp");
    if (!parent || !is_of_a_daemon(parent->place.fd.get(), name))
        return;
    DriverFile folder{root.on_host(path_in(parent->place.path, name)), "run/" + name, "/tmp/" + name};
    folder.kind = Kind::Directory;
    folder.read_only = false;
    files.push_back(folder);
}

} // namespace

std::vector<DriverFile> find_files(const DriverRoot &root, const std::string &version, CapabilityBits wanted)
{
    std::vector<DriverFile> files;
    for (const ProgramName &program : program_names()) {
        if (wanted.has_any(program.brought_by))
            add_program(root, program, files);
    }
    for (const ConfigName &config : config_names()) {
        if (wanted.has_any(config.brought_by))
            add_config(root, config, files);
    }
    // What the driver does for which program: libcuda and libnvidia-glcore name the file by their version.
    const std::string profiles = "nvidia/nvidia-application-profiles-" + version + "-rc";
    if (wanted.has_any(for_compute_and_graphics))
        add_config(root, {profiles, "/usr/share", for_compute_and_graphics}, files);
    if (wanted.has(Capability::Utility)) {
        for (const std::string_view name : socket_names())
            add_socket(root, name, files);
    }
    if (wanted.has_any(for_compute))
        add_mps_folder(root, files);
    return files;
}

} // namespace ogh::nvidia_devices
