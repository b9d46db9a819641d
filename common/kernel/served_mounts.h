// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "kernel/mount_table.h"

namespace ogh {

/**
 * The mounts of a table whose filesystem is served by another process or another machine (FUSE, NFS and their like):
 * whoever uses one waits for as long as that takes. A type that is not known counts as served.
 *
 * All of a namespace count, wherever they are: a layer of an overlay is in the table under another path, and a path may
 * lead anywhere by symlinks.
 */
std::vector<TypedMount> served_mounts(const MountTable &table);

/**
 * Which of them may be at fault where a process has not come to its end in time, in words that follow "gave up": those
 * in the container, or all if it has none.
 * @param rootfs of the container on the host: what is below it is named as the container does; "" for no container
 */
std::string blame(const std::vector<TypedMount> &served, const std::string &rootfs);

} // namespace ogh
