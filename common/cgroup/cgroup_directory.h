// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cgroup/device_cgroup.h"
#include "kernel/mount_table.h"

namespace ogh {

/** What a look for a cgroup's directory found. */
struct CgroupDirectory {
    bool is_shown = false; ///< a mount shows where it is or would be
    UniqueFd fd;           ///< open for reading; not valid if it is not there
};

/**
 * The directory of a cgroup. A mount that lies below another one is not found.
 * @param controller of the hierarchy, as /proc/PID/cgroup names it; "" for version 2
 * @param path as that file has it
 * @throws SystemError
 */
CgroupDirectory open_cgroup(const MountTable &mounts, const std::string &controller, const std::string &path);

/** How far up parent_of() is to be followed: cgroups are far less deep. */
constexpr int max_cgroup_depth = 256;

/** The parent of a cgroup of version 2; nothing above the topmost that is mounted. */
std::optional<Cgroup> parent_of(const Cgroup &cgroup);

/**
 * The cgroup of a process in the hierarchy that has `controller` ("" is version 2), from its /proc/PID/cgroup;
 * cgroups(7). Nothing if that hierarchy does not exist.
 */
std::optional<std::string> cgroup_of(std::string_view proc_cgroup, std::string_view controller);

/**
 * The cgroups that are a container's own, outermost first: from the one that `cgroups_path` names down to `init`. A
 * runtime may put the process into a cgroup below the one it was told (crun under systemd does).
 *
 * @param init the cgroup of the container's init process
 * @param runtime the cgroup of this process; neither it nor an ancestor of it is ever the container's own
 * @param cgroups_path linux.cgroupsPath of config.json: a path, a name, systemd's slice:prefix:name, or "". If it
 *        names no cgroup above init, init's own is the only one.
 */
std::vector<std::string> container_cgroups(const std::string &init, const std::string &runtime,
                                           const std::string &cgroups_path);

/**
 * Those that a scope of systemd's has which was made for this container, outermost first: of its own ones, and of the
 * one above them where no path names them (crun then puts the process into one below its scope).
 *
 * @param own what container_cgroups() has found; @param runtime and cgroups_path as it took them
 */
std::vector<std::string> scope_cgroups(const std::vector<std::string> &own, const std::string &runtime,
                                       const std::string &cgroups_path);

/**
 * Where the cgroup `path` is below a mount that shows the cgroup `mount_root`: "." or a relative path; nothing if
 * it is not there.
 */
std::optional<std::string> path_below(const std::string &path, const std::string &mount_root);

} // namespace ogh
