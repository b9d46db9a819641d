// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/log.h"
#include "nvidia-devices/driver/driver_places.h"
#include "nvidia-devices/host/inventory.h"
#include "nvidia-devices/plan/driver_tree.h"
#include "nvidia-devices/request/gpu_selection.h"

namespace ogh::nvidia_devices {

/**
 * Finds the files for what is chosen, together with what an earlier request for the same container has brought.
 * @param earlier what that one has left in the tree (record_name); nothing if there was none
 * @throws Error (BrokenHost) if what was named cannot work with what there is; not for a container without GPUs
 */
DriverTree read_requested_tree(const DriverPlaces &places, const GpuSelection &selection,
                               const Inventory &inventory, const std::optional<std::string> &earlier,
                               Notes &notes);

} // namespace ogh::nvidia_devices
