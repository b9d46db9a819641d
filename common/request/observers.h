// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "oci/config.h"

namespace ogh {

// Containers that look after a node's GPUs, such as a device plugin's own and a monitor's: they see all of them beside
// those who use them, and have no lease.

/**
 * --observer: KEY=PATTERN each. The namespace that the engine writes has to be among the keys, as whoever writes a pod
 * chooses all else that an engine says of it.
 * @throws Error (Usage) if there are some and none is such a key, or two engines' are, of which no container has both
 */
void check_observers(const std::vector<std::string> &patterns);

/** Whether the container meets them, and its namespace is the engine's word; none: it does not. */
bool is_observer(const Config &config, const std::vector<std::string> &patterns);

} // namespace ogh
