// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "cgroup/device_cgroup.h"
#include "kernel/mount_table.h"

namespace ogh {

/** What a look for a cgroup's folder found. */
struct CgroupFolder {
    bool is_shown = false; ///< a mount shows where it is or would be
    UniqueFd fd;           ///< open for reading; not valid if it is not there
};

/**
 * The folder of a cgroup. A mount that lies below another one is not found.
 * @param controller of the hierarchy, as /proc/PID/cgroup names it; "" for version 2
 * @param path as that file has it
 * @throws SystemError
 */
CgroupFolder open_cgroup(const MountTable &mounts, const std::string &controller, const std::string &path);

/** How far up parent_of() is to be followed: cgroups are far less deep. */
constexpr int max_cgroup_depth = 256;

/** The parent of a cgroup of version 2; nothing above the topmost that is mounted. */
std::optional<Cgroup> parent_of(const Cgroup &cgroup);

} // namespace ogh
