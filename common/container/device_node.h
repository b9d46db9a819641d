// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "edits/edits.h"

namespace ogh {

dev_t number_of(const NodeEdit &node);

/** Makes the node with exactly its mode, whatever the umask. @return 0 or an error number */
int make_device_node(int folder, const std::string &name, const NodeEdit &node);

/**
 * Opens (O_PATH) the host's own node.
 * @return nothing if the host has none of that name
 * @throws Error (BrokenHost) if what has the name is anything else than this very device: the driver and /dev disagree, and
 *         one of them would give the container what it did not ask for
 */
std::optional<UniqueFd> open_host_node(const NodeEdit &node);

/** The same for all of them, which stay closed. */
void check_host_nodes(const std::vector<NodeEdit> &nodes);

} // namespace ogh
