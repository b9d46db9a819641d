// SPDX-License-Identifier: Apache-2.0
#include "cgroup/cgroup_folder.h"

#include <fcntl.h>
#include <sys/vfs.h>
#include <linux/magic.h>

#include "base/path_names.h"
#include "base/text.h"
#include "cgroup/device_cgroup_paths.h"
#include "kernel/openat2.h"

namespace ogh {

namespace {

bool is_of(int fd, long magic)
{
    struct statfs filesystem {};
    return ::fstatfs(fd, &filesystem) == 0 && filesystem.f_type == magic;
}

} // namespace

CgroupFolder open_cgroup(const MountTable &mounts, const std::string &controller, const std::string &path)
{
    const long magic = controller.empty() ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC;
    CgroupFolder found;
    for (const CgroupMount &mount : mounts.cgroup_mounts(controller)) {
        const std::optional<std::string> below = path_below(path, mount.root);
        const UniqueFd top(::open(mount.point.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!below || !top.valid() || !is_of(top.get(), magic))
            continue;
        found.is_shown = true;
        auto folder =
            find_path(top.get(), *below, O_RDONLY | O_DIRECTORY, Walk::OneStep, "the cgroup " + quote(path));
        if (folder) {
            found.fd = std::move(*folder);
            break;
        }
    }
    return found;
}

std::optional<Cgroup> parent_of(const Cgroup &cgroup)
{
    Cgroup parent{UniqueFd(::openat(cgroup.fd.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                  folder_of(cgroup.path)};
    if (!parent.fd.valid() || !is_of(parent.fd.get(), CGROUP2_SUPER_MAGIC))
        return std::nullopt;
    return parent;
}

} // namespace ogh
