// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "base/log.h"
#include "base/unique_fd.h"
#include "edits/edits.h"
#include "kernel/inode.h"
#include "kernel/mount_tree.h"
#include "kernel/user_namespace.h"

namespace ogh {

/** What is brought along from the host, opened there and ready to be attached in the container. */
struct MountSource {
    MountEdit edit;
    Inode inode;
    MountTree tree;
};

/** The host's directory or file of a mount, opened (O_PATH). */
struct OpenedSource {
    UniqueFd fd;
    Inode inode;
};

/**
 * Opens it, without following any symlink.
 * @throws Error: NotAvailable if it has gone; Failure if it is not of the kind that was planned
 */
OpenedSource open_source(const MountEdit &edit);

/**
 * Opens the sources of all mounts, in their order. Call it on the host.
 * @throws Error
 */
std::vector<MountSource> open_sources(const std::vector<MountEdit> &mounts,
                                      const std::optional<UserNamespace> &user_namespace);

/** A warning for each writable source which the container's root cannot write to. */
Notes write_obstacles(const std::vector<MountSource> &sources, const UserNamespace &user_namespace);

} // namespace ogh
