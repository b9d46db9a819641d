// SPDX-License-Identifier: Apache-2.0
#pragma once

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

} // namespace ogh
