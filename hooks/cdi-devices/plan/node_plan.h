// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cdi-devices/host/host_files.h"
#include "cdi-devices/spec/spec.h"
#include "edits/edits.h"

namespace ogh::cdi_devices {

/**
 * A device node as the reference implementation makes it: numbers and permissions that the specification does not say are
 * those of the host's node, and it belongs to the container's user. Pure.
 * @param host what the host has at host_path_of(node)
 * @throws Error: Host if the host has none, or another one; Policy as node_target()
 */
NodeEdit plan_node(const DeviceNode &node, const HostFile &host, const NodeOwner &user);

/**
 * What a mount of a device node comes to, such as Intel's of the links in /dev/dri/by-path: another name for it, without
 * a rule of the device cgroup, which a mount brings none of. Every mount of this collection is nodev. Pure.
 * @param host a device node
 * @throws Error as node_target()
 */
NodeEdit plan_mounted_node(const Mount &mount, const HostFile &host, const NodeOwner &user);

} // namespace ogh::cdi_devices
