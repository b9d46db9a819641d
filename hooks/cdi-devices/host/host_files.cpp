// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/host/host_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "cdi/spec.h"
#include "host/host_file.h"
#include "host/sysroot.h"
#include "kernel/directory_entries.h"
#include "libraries/directory_libraries.h"
#include "loader/elf_file.h"

namespace ogh::cdi_devices {

namespace {

/** Nothing if it is no library. */
std::optional<FoundFile> read_file(const Sysroot &sysroot, const std::string &host_path, std::string name)
{
    const auto found = sysroot.find(host_path);
    if (!found)
        return std::nullopt;
    const UniqueFd fd = open_host_file(sysroot, *found);
    struct stat status {};
    if (!fd.valid() || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
        return std::nullopt;
    const auto read = read_elf_library(fd.get());
    const auto *library = std::get_if<ElfLibrary>(&read);
    if (library == nullptr)
        return std::nullopt;
    return FoundFile{std::move(name), false, status.st_dev, status.st_ino, *library};
}

void add_host_directory(const Sysroot &sysroot, const std::string &path, std::vector<FoundFile> &files)
{
    constexpr size_t max_files = 32768;
    const auto directory = sysroot.find(path);
    struct stat status {};
    if (!directory || ::fstat(directory->fd.get(), &status) != 0 || !S_ISDIR(status.st_mode))
        return;
    for (const DirectoryEntry &entry : list_directory(
             directory->fd.get(), {quote(path), is_library_name, max_files, ErrorKind::BrokenHost})) {
        auto file = read_file(sysroot, path + "/" + entry.name, entry.name);
        if (!file)
            continue;
        file->is_link = entry.type == DT_LNK;
        files.push_back(std::move(*file));
    }
}

/**
 * The libraries that these mounts put into a directory of the container: files of the host that are mounted in it, and those
 * in a directory of the host that is mounted on it or above it.
 * @param directory absolute, without a slash at the end
 * @throws Error (BrokenHost)
 */
std::vector<FoundFile> read_directory_files(const std::string &directory,
                                            const std::vector<cdi::Mount> &mounts, const Sysroot &sysroot)
{
    std::vector<FoundFile> files;
    for (const cdi::Mount &mount : mounts) {
        const std::string &path = mount.container_path;
        if ((directory + "/").starts_with(path + "/")) {
            add_host_directory(sysroot, mount.host_path + directory.substr(path.size()), files);
        } else if (directory_of(path) == directory && is_library_name(file_name_of(path))) {
            if (auto file = read_file(sysroot, mount.host_path, file_name_of(path)))
                files.push_back(std::move(*file));
        }
    }
    return files;
}

/** What itself has the name. @param path absolute */
HostFile look(const Sysroot &sysroot, const std::string &path)
{
    const auto directory = sysroot.find(directory_of(path));
    const std::string name = file_name_of(path);
    struct stat status {};
    if (directory && ::fstatat(directory->fd.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
        return {sysroot.on_host(path_in(directory->path, name)), status.st_mode, status.st_rdev};
    if (directory && errno != ENOENT)
        throw SystemError(errno, "cannot look at " + quote(path), ErrorKind::BrokenHost);
    return {sysroot.on_host(path), 0, 0};
}

/** What symlinks lead to. @param path absolute */
HostFile follow(const Sysroot &sysroot, const std::string &path)
{
    const auto found = sysroot.find(path);
    if (!found)
        return {sysroot.on_host(path), 0, 0};
    struct stat status {};
    if (::fstat(found->fd.get(), &status) != 0)
        throw SystemError(errno, "cannot look at " + quote(path), ErrorKind::BrokenHost);
    return {sysroot.on_host(found->path), status.st_mode, status.st_rdev};
}

void require_absolute(const std::string &path, const char *what)
{
    if (!path.starts_with('/'))
        throw Error(ErrorKind::BrokenHost,
                    "the host path " + quote(path) + " of a " + what + " is not absolute");
}

/** "" if it is not loaded. */
std::string read_driver_version(const Sysroot &sysroot)
{
    constexpr size_t max_size = 4096;
    const auto text = read_host_file(sysroot, "/sys/module/nvidia/version", max_size);
    return text ? text->substr(0, text->find('\n')) : "";
}

void add_driver_proc(const Sysroot &sysroot, HostFiles &files)
{
    const std::string proc = driver_proc_directory;
    const auto found = sysroot.find(proc);
    auto driver = read_driver_proc(sysroot);
    if (!found || !driver.params)
        return;
    files.driver_proc = std::move(driver);
    for (const char *name : {"/gpus", "/capabilities"})
        if (sysroot.find(proc + name))
            files.driver_directories.push_back({sysroot.on_host(found->path) + name, proc + name});
}

} // namespace

bool is_device(const HostFile &file)
{
    return S_ISCHR(file.mode) || S_ISBLK(file.mode);
}

const std::string &host_path_of(const cdi::DeviceNode &node)
{
    return node.host_path.empty() ? node.path : node.host_path;
}

HostFiles look_at_host(const cdi::ContainerEdits &edits, const VendorActions &actions, const Sysroot &sysroot)
{
    HostFiles files;
    for (const cdi::DeviceNode &node : edits.nodes) {
        require_absolute(host_path_of(node), "device node");
        files.nodes.try_emplace(host_path_of(node), look(sysroot, host_path_of(node)));
    }
    for (const cdi::Mount &mount : edits.mounts) {
        require_absolute(mount.host_path, "mount");
        files.mounts.try_emplace(mount.host_path, follow(sysroot, mount.host_path));
    }
    const auto is_missing = [](const auto &each) { return each.second.mode == 0; };
    if (std::any_of(files.mounts.begin(), files.mounts.end(), is_missing))
        files.driver_version = read_driver_version(sysroot);
    for (const std::string &directory : actions.library_directories)
        files.libraries.try_emplace(directory, read_directory_files(directory, edits.mounts, sysroot));
    if (actions.masks_params)
        add_driver_proc(sysroot, files);
    return files;
}

} // namespace ogh::cdi_devices
