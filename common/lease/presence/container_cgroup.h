// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "lease/presence/processes.h"
#include "lease/state/lease_state.h"

namespace ogh {

/**
 * The topmost cgroup that is a container's own, in version 2 or else in one of the hierarchies of version 1.
 * @param init its /proc/PID/cgroup
 * @param cgroups_path linux.cgroupsPath of config.json, or ""
 * @param with_inode finds out its inode too, which takes longer. Where init lives as long as the container that is not
 *        needed: the path cannot become another cgroup's meanwhile. Without, it is 0, and any is taken for it.
 * @return nothing if it is in none of its own. @throws Error
 */
std::optional<OwnCgroup> find_own_cgroup(const Processes &processes, const std::string &init,
                                         const std::string &cgroups_path, bool with_inode);

/** Stands for those that there may be where it is not looked, or cannot be: no process has that number. */
constexpr pid_t unseen_process = std::numeric_limits<pid_t>::max();

/**
 * Processes in the cgroup and in those below it, as this process's pid namespace numbers them (cgroup.procs): all of those
 * in some of these cgroups, and two at least if there are so many. 0 is one of another namespace. None if it has been
 * removed, or another one has its path now.
 * @throws Error (BrokenHost) if that cannot be told
 */
std::vector<pid_t> processes_in(const Processes &processes, const OwnCgroup &cgroup);

/** Whether the cgroup of a process is frozen, as that of a container that is paused; false where that cannot be told. */
bool is_frozen(const Processes &processes, pid_t pid);

/**
 * Has a container go on that an engine has paused with cgroup version 1, where a process that is frozen does not even end by
 * SIGKILL before. As far as that is possible; nothing happens where it is not paused, or its init has ended.
 */
void thaw(const Processes &processes, const Holder &holder);

/** The same where processes of the container are in cgroups that it has made itself, and frozen there; this takes longer. */
void thaw_all(const Processes &processes, const Holder &holder);

/**
 * What the processes of a container but its init have used of the CPU, in ns, those that have ended too: cpuacct.usage, or
 * cpu.stat in version 2, less the clock of init.
 * @return nothing where the container's cgroup is not found, or does not say it
 */
std::optional<std::uint64_t> cpu_of_others(const Processes &processes, const Holder &holder);

} // namespace ogh
