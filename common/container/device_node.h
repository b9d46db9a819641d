// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "edits/edits.h"
#include "kernel/mount_tree.h"
#include "kernel/tmpfs.h"

namespace ogh {

dev_t number_of(const NodeEdit &node);

/** Makes the node with exactly its mode, whatever the umask. @return 0 or an error number */
int make_device_node(int directory, const std::string &name, const NodeEdit &node);

/**
 * Looks at the host's own nodes, of those that it has.
 * @throws Error (BrokenHost) if what has the name is anything else than this very device: the driver and /dev disagree, and
 *         one of them would give the container what it did not ask for
 */
void check_host_nodes(const std::vector<NodeEdit> &nodes);

// A device node that is bind-mounted into a container, where none can be made.

/**
 * Makes a node on a tmpfs of the host for a container with a user namespace, which has no filesystem of its own that
 * could hold one.
 * @param name of it on the tmpfs, which nothing else has
 * @param node with its owner as this process numbers it
 * @throws Error (BrokenHost) if this process may not make nodes
 */
MountTree make_device_mount(const NodeEdit &node, const PrivateTmpfs &tmpfs, const std::string &name);

/**
 * Takes the host's own node, for an engine without the host's root.
 * @param keeps_groups see Container: otherwise this user's groups are of no use in the container
 * @throws Error (BrokenHost) if there is none, or this user may not open it
 */
MountTree open_device_mount(const NodeEdit &node, bool keeps_groups);

} // namespace ogh
