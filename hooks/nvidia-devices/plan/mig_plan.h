// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edits/edits.h"
#include "nvidia-devices/host/inventory.h"
#include "nvidia-devices/request/gpu_selection.h"

namespace ogh::nvidia_devices {

/**
 * Adds the nodes of MigConfig and MigMonitor, and with them all that the driver says of instances in /proc; or else the nodes of the chosen instances (MIG), and their files `access` in /proc, of no others. Pure.
 * @param rights as DeviceNodes has them
 * @param edits with Edits::proc
 * @throws Error (Host) if the driver has no such nodes
 */
void plan_instances(const GpuSelection &selection, const Inventory &inventory,
                    const std::vector<CapNode> &rights, Edits &edits);

} // namespace ogh::nvidia_devices
