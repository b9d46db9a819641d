// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "mount_tree.h"

namespace ogh {

/**
 * Copies detached trees through a throw-away user namespace, which locks their attributes and the mounts in
 * them (mount_namespaces(7), "Restrictions on mount namespaces"): whoever has CAP_SYS_ADMIN in a user namespace
 * can then neither make them writable nor uncover what is below a mount in them.
 *
 * This process moves to a private copy of its mount namespace; what it opened before stays valid.
 * @throws Error
 */
std::vector<MountTree> lock_trees(const std::vector<MountTree> &trees);

} // namespace ogh
