// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/host/host_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "base/text.h"
#include "cdi-devices/host/folder_files.h"
#include "host/host_file.h"

namespace ogh::cdi_devices {

namespace {

HostFile file_of(std::string path, const struct stat &status)
{
    return {std::move(path), status.st_mode, status.st_rdev};
}

HostFile look_at_node(const Sysroot &sysroot, const std::string &path)
{
    HostFile file{sysroot.on_host(path), 0, 0};
    const size_t slash = path.rfind('/');
    if (!path.starts_with('/'))
        throw Error(ExitCode::Host, "the host path " + quote(path) + " of a device node is not absolute");
    const auto folder = sysroot.find(slash == 0 ? "/" : path.substr(0, slash));
    if (!folder)
        return file;
    const std::string name = path.substr(slash + 1);
    struct stat status {};
    if (::fstatat(folder->fd.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
        return file_of(
            sysroot.on_host(folder->path == "/" ? path.substr(slash) : folder->path + path.substr(slash)),
            status);
    if (errno != ENOENT)
        throw SystemError(errno, "cannot look at " + quote(path), ExitCode::Host);
    return file;
}

HostFile look_at_source(const Sysroot &sysroot, const std::string &path)
{
    if (!path.starts_with('/'))
        throw Error(ExitCode::Host, "the host path " + quote(path) + " of a mount is not absolute");
    const auto found = sysroot.find(path);
    if (!found)
        return {sysroot.on_host(path), 0, 0};
    struct stat status {};
    if (::fstat(found->fd.get(), &status) != 0)
        throw SystemError(errno, "cannot look at " + quote(path), ExitCode::Host);
    return file_of(sysroot.on_host(found->path), status);
}

/** "" if it is not loaded. */
std::string read_driver_version(const Sysroot &sysroot)
{
    constexpr size_t max_size = 4096;
    const auto text = read_host_file(sysroot, "/sys/module/nvidia/version", max_size);
    return text ? text->substr(0, text->find('\n')) : "";
}

} // namespace

const std::string &host_path_of(const DeviceNode &node)
{
    return node.host_path.empty() ? node.path : node.host_path;
}

HostFiles look_at_host(const ContainerEdits &edits, const VendorActions &actions, const Sysroot &sysroot)
{
    HostFiles files;
    for (const DeviceNode &node : edits.nodes)
        files.nodes.try_emplace(host_path_of(node), look_at_node(sysroot, host_path_of(node)));
    for (const Mount &mount : edits.mounts)
        files.mounts.try_emplace(mount.host_path, look_at_source(sysroot, mount.host_path));
    const auto is_missing = [](const auto &each) { return each.second.mode == 0; };
    if (std::any_of(files.mounts.begin(), files.mounts.end(), is_missing))
        files.driver_version = read_driver_version(sysroot);
    for (const std::string &folder : actions.library_folders)
        files.libraries.try_emplace(folder, read_folder_files(folder, edits.mounts, sysroot));
    if (actions.masks_params)
        files.driver_proc = read_driver_proc(sysroot);
    return files;
}

} // namespace ogh::cdi_devices
