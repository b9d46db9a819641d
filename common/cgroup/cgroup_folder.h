// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "cgroup/device_cgroup.h"
#include "kernel/mount_table.h"

namespace ogh {

/** A hierarchy of cgroups in which there are device cgroups. */
struct CgroupHierarchy {
    const char *controller; ///< as /proc/PID/cgroup names it
    long magic;             ///< of its filesystem, statfs(2)
};

extern const CgroupHierarchy cgroup_version_1;
extern const CgroupHierarchy cgroup_version_2;

/**
 * The folder of the cgroup `path`, as /proc/PID/cgroup names it, open for reading; nothing if no mount shows it. A mount
 * that lies below another one is not found. @throws SystemError
 */
std::optional<UniqueFd> open_cgroup(const MountTable &mounts, const CgroupHierarchy &hierarchy,
                                    const std::string &path);

/** How far up parent_of() is to be followed: cgroups are far less deep. */
constexpr int max_cgroup_depth = 256;

/** The parent of a cgroup of version 2; nothing above the topmost that is mounted. */
std::optional<Cgroup> parent_of(const Cgroup &cgroup);

} // namespace ogh
