// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernel/mount_tree.h"
#include "kernel/private_tmpfs.h"

namespace ogh {

/**
 * Replaces detached trees by copies that went through a throw-away user namespace, which locks their attributes and
 * the mounts in them (mount_namespaces(7), "Restrictions on mount namespaces"): whoever has CAP_SYS_ADMIN in a user
 * namespace can then neither make them writable nor uncover what is below a mount in them.
 * @param tmpfs where the trees are put together; names that are numbers are taken
 * @throws Error
 */
void lock_mounts(const PrivateTmpfs &tmpfs, const std::vector<MountTree *> &trees);

} // namespace ogh
