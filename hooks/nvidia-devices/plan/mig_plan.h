// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edits/edits.h"
#include "nvidia-devices/host/inventory.h"
#include "nvidia-devices/request/gpu_selection.h"

namespace ogh::nvidia_devices {

/**
 * Adds the nodes of the chosen instances (MIG), and their files `access` in /proc, of no others. Pure.
 * @param edits with Edits::proc
 * @throws Error (BrokenHost) if the driver has no such nodes
 */
void plan_instances(const GpuSelection &selection, const Inventory &inventory, Edits &edits);

} // namespace ogh::nvidia_devices
