// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cdi-devices/host/device_keys.h"
#include "cdi-devices/host/host_files.h"
#include "cdi-devices/request/device_choice.h"
#include "cdi/spec.h"
#include "edits/edits.h"

namespace ogh::cdi_devices {

/**
 * All nodes that edits bring: their own, and those that they mount. Pure.
 * @param host what has been looked at; what was not is left out, such as a node whose place another device's takes
 * @throws Error as plan_node()
 */
std::vector<NodeEdit> plan_nodes(const cdi::ContainerEdits &edits, const HostFiles &host,
                                 const NodeOwner &user);

/** The same of one device and of its file. */
DeviceNodes nodes_of(const FoundDevice &found, const HostFiles &host);

} // namespace ogh::cdi_devices
