// SPDX-License-Identifier: Apache-2.0
#include "cgroup/cgroup_folder.h"

#include <fcntl.h>
#include <sys/vfs.h>
#include <linux/magic.h>

#include <filesystem>

#include "base/text.h"
#include "cgroup/device_cgroup_paths.h"
#include "kernel/openat2.h"

namespace ogh {

const CgroupHierarchy cgroup_version_1 = {"devices", CGROUP_SUPER_MAGIC};
const CgroupHierarchy cgroup_version_2 = {"", CGROUP2_SUPER_MAGIC};

namespace {

bool is_of(int fd, const CgroupHierarchy &hierarchy)
{
    struct statfs filesystem {};
    return ::fstatfs(fd, &filesystem) == 0 && filesystem.f_type == hierarchy.magic;
}

} // namespace

std::optional<UniqueFd> open_cgroup(const MountTable &mounts, const CgroupHierarchy &hierarchy,
                                    const std::string &path)
{
    for (const CgroupMount &mount : mounts.cgroup_mounts(hierarchy.controller)) {
        const std::optional<std::string> below = path_below(path, mount.root);
        const UniqueFd top(::open(mount.point.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!below || !top.valid() || !is_of(top.get(), hierarchy))
            continue;
        std::optional<UniqueFd> found =
            find_path(top.get(), *below, O_RDONLY | O_DIRECTORY, Walk::OneStep, "the cgroup " + quote(path));
        if (found)
            return found;
    }
    return std::nullopt;
}

std::optional<Cgroup> parent_of(const Cgroup &cgroup)
{
    Cgroup parent{UniqueFd(::openat(cgroup.fd.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                  std::filesystem::path(cgroup.path).parent_path().string()};
    if (!parent.fd.valid() || !is_of(parent.fd.get(), cgroup_version_2))
        return std::nullopt;
    return parent;
}

} // namespace ogh
