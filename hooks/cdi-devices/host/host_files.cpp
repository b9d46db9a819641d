// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/host/host_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "cdi-devices/host/folder_files.h"
#include "host/host_file.h"

namespace ogh::cdi_devices {

namespace {

/**
 * Looks at files of the host. A specification names those of a folder one after the other, hundreds of them, so the way to
 * a folder is walked once.
 */
class Looker final {
public:
    explicit Looker(const Sysroot &sysroot) : sysroot_(sysroot) {}

    /** What itself has the name. @param path absolute */
    [[nodiscard]] HostFile look(const std::string &path)
    {
        enter(folder_of(path));
        const std::string name = file_name_of(path);
        struct stat status {};
        if (folder_ && ::fstatat(folder_->fd.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
            return {sysroot_.on_host(path_in(folder_->path, name)), status.st_mode, status.st_rdev};
        if (folder_ && errno != ENOENT)
            throw SystemError(errno, "cannot look at " + quote(path), ErrorKind::BrokenHost);
        return {sysroot_.on_host(path), 0, 0};
    }

    /** What symlinks lead to. @param path absolute */
    [[nodiscard]] HostFile follow(const std::string &path)
    {
        const std::string name = file_name_of(path);
        if (!name.empty() && name != "." && name != "..") {
            HostFile file = look(path);
            if (!S_ISLNK(file.mode))
                return file;
        }
        const auto found = sysroot_.find(path);
        if (!found)
            return {sysroot_.on_host(path), 0, 0};
        struct stat status {};
        if (::fstat(found->fd.get(), &status) != 0)
            throw SystemError(errno, "cannot look at " + quote(path), ErrorKind::BrokenHost);
        return {sysroot_.on_host(found->path), status.st_mode, status.st_rdev};
    }

private:
    void enter(std::string path)
    {
        if (path == path_ && folder_)
            return;
        folder_ = sysroot_.find(path);
        path_ = std::move(path);
    }

    const Sysroot &sysroot_;
    std::string path_;                   ///< of the folder, as it was asked for
    std::optional<ResolvedPath> folder_; ///< nothing if it does not exist
};

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
    Looker looker(sysroot);
    for (const cdi::DeviceNode &node : edits.nodes) {
        require_absolute(host_path_of(node), "device node");
        files.nodes.try_emplace(host_path_of(node), looker.look(host_path_of(node)));
    }
    for (const cdi::Mount &mount : edits.mounts) {
        require_absolute(mount.host_path, "mount");
        files.mounts.try_emplace(mount.host_path, looker.follow(mount.host_path));
    }
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
