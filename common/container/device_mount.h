// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "edits/edits.h"
#include "kernel/fs_credentials.h"
#include "kernel/inode.h"
#include "kernel/mount_tree.h"
#include "kernel/private_tmpfs.h"

namespace ogh {

/** A device node that is bind-mounted into a container, where none can be made. */
struct DeviceMount {
    Inode inode;
    MountTree tree;
};

/**
 * Makes nodes on a tmpfs of the host for a container with a user namespace, which has no filesystem of its own that
 * could hold any.
 * @param owner the container's root
 * @throws Error (Host) if this process may not make nodes
 */
std::vector<DeviceMount> make_device_mounts(const std::vector<NodeEdit> &nodes, const PrivateTmpfs &tmpfs,
                                            const std::optional<FsCredentials> &owner);

/**
 * Takes the host's own nodes, for an engine without the host's root.
 * @param keeps_groups see Container: otherwise this user's groups are of no use in the container
 * @throws Error (Host) if there is none, or this user may not open it
 */
std::vector<DeviceMount> open_device_mounts(const std::vector<NodeEdit> &nodes, bool keeps_groups);

} // namespace ogh
