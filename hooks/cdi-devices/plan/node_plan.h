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
 * A device node as the reference implementation makes it: numbers and permissions that the specification does not say are
 * those of the host's node, and it belongs to the container's user. Pure.
 * @param host what the host has at host_path_of(node)
 * @throws Error: BrokenHost if the host has none, or another one; Policy as node_target()
 */
NodeEdit plan_node(const cdi::DeviceNode &node, const HostFile &host, const NodeOwner &user);

/**
 * What a mount of a device node comes to, such as Intel's of the links in /dev/dri/by-path: another name for it, without
 * a rule of the device cgroup, which a mount brings none of. Every mount of this collection is nodev. Pure.
 * @param host a device node
 * @throws Error as node_target()
 */
NodeEdit plan_mounted_node(const cdi::Mount &mount, const HostFile &host, const NodeOwner &user);

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
