// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "base/number.h"
#include "host/sysroot.h"

namespace ogh {

/** Whether this process may open a device. */
enum class NodeAccess {
    Open,
    DeniedByCgroup, ///< its device cgroup does not let it
    DeniedByMode,   ///< owner, group and mode of the node, an ACL or a security module
    NoNode,         ///< the host has none of that number there
};

/**
 * Asked of the kernel, by descriptor and without opening, which could wake a GPU that sleeps: inode_permission() in
 * fs/namei.c looks at modes and at the device cgroup (either version) before any driver is called, for faccessat2 as
 * for open. The cgroup alone answers EPERM (security/device_cgroup.c).
 * @param fd O_PATH will do
 * @param mode of the node as its driver makes it: one that nobody may write to is to be read alone
 */
NodeAccess access_of(int fd, mode_t mode = 0666);

/**
 * @param path of the node, below the sysroot
 * @throws Error (BrokenHost) if it cannot be looked at
 */
NodeAccess read_node_access(const Sysroot &sysroot, const std::string &path, const DeviceNumber &number,
                            mode_t mode = 0666);

/** Why the node cannot be opened, for messages; "" if it can. @param path as this process names it */
std::string obstacle_text(NodeAccess access, const std::string &path);

/**
 * Why a device cannot be given at all where in_initial_user_namespace() is false: it has no node here, and the root of this
 * user namespace can make none, as in a system container into which other GPUs were passed.
 * @param path of the node, below the sysroot @return "" if it can be
 */
std::string why_without_node(const Sysroot &sysroot, const std::string &path);

} // namespace ogh
