// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <linux/capability.h>

#include <array>
#include <string>
#include <vector>

#include "cgroup/device_cgroup.h"
#include "kernel/mount_table.h"
#include "kernel/proc_fs.h"

namespace ogh {

/** What allow() takes where there is something to change; asking about programs took the second before Linux 6.4. */
constexpr std::array<unsigned, 2> device_cgroup_capabilities = {CAP_SYS_ADMIN, CAP_NET_ADMIN};

/**
 * The device cgroups of a container that is being created, versions 1 and 2: both where a host has both. Construct it
 * on the host. The cgroups are held by descriptor, so that it works after entering too.
 */
class DeviceCgroups final {
public:
    /**
     * @param mounts those of this process's namespace
     * @param init the container's init process, held by the caller: its number must not be another's meanwhile
     * @param cgroups_path linux.cgroupsPath of config.json, or ""
     * @throws Error (BrokenHost) if /proc cannot be understood
     */
    DeviceCgroups(const ProcFs &proc, const MountTable &mounts, pid_t init, const std::string &cgroups_path);

    /**
     * Lets the container use these devices, exactly, in every cgroup of its own. A second call with the same rules
     * changes nothing.
     * @param undo gets how to take back what was allowed; this outlives what is added
     * @return what was done; that there is no device cgroup, or that it is not for this process to change, is one
     *         note
     * @throws Error (BrokenHost) if a cgroup that is not the container's own denies a rule, or a program cannot be read back
     *         or changed
     */
    Notes allow(const DeviceRules &rules, UndoLog &undo);

    /**
     * Denies the container these devices, exactly; allow() puts them back.
     * @throws Error (BrokenHost) if they cannot be denied in every hierarchy in which the container has cgroups of its own
     *         with rules; then some of it may be denied
     */
    void deny(const DeviceRules &rules);

    /** Whether the outermost of them is that cgroup, in each hierarchy in which there are some. */
    [[nodiscard]] bool begin_at(const std::string &path) const;

    /** Those that a scope of systemd's may have which is this container's, see scope_cgroups(); mostly one or none. */
    [[nodiscard]] const std::vector<std::string> &scopes() const { return scopes_; }

private:
    std::vector<std::string> scopes_;
    Notes notes_;                ///< on what was found, said with the first allow()
    std::vector<Cgroup> first_;  ///< of version 1, outermost first
    std::vector<Cgroup> second_; ///< of version 2
};

} // namespace ogh
