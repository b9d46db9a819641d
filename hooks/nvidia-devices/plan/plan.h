// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/log.h"
#include "edits/edits.h"
#include "nvidia-devices/host/device_nodes.h"
#include "nvidia-devices/host/inventory.h"
#include "nvidia-devices/request/gpu_selection.h"

namespace ogh::nvidia_devices {

/**
 * The nodes and links that a container gets, and its /proc/driver/nvidia. Pure.
 * @param inventory of a host with the driver
 * @param host as read_device_nodes() reads it for `selection`
 * @param notes what a capability means and this host does not have
 * @throws Error (BrokenHost) if a module is not loaded, which says how to load it
 */
Edits plan(const GpuSelection &selection, const Inventory &inventory, const DeviceNodes &host, Notes &notes);

} // namespace ogh::nvidia_devices
