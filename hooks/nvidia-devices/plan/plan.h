// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/log.h"
#include "edits/edits.h"
#include "hook/gpu_vendor.h"
#include "nvidia-devices/host/inventory.h"
#include "nvidia-devices/image/image.h"
#include "nvidia-devices/plan/driver_tree.h"
#include "nvidia-devices/request/image_requirements.h"

namespace ogh::nvidia_devices {

/** What the plan for a container is made of. */
class NvidiaInputs final : public GpuInputs {
public:
    GpuSelection selection;
    Inventory inventory;                   ///< of a host with the driver
    DeviceNodes nodes;                     ///< as read_device_nodes() reads them for `selection`
    std::vector<Requirement> requirements; ///< of the image
    DriverTree tree;                       ///< not wanted: no files
    Image image;

    [[nodiscard]] Edits plan(Notes &notes) const override;
};

/**
 * The nodes and links that a container gets, and its /proc/driver/nvidia. Pure.
 * @param inventory of a host with the driver
 * @param host as read_device_nodes() reads it for `selection`
 * @param notes what a capability means and this host does not have
 * @throws Error (BrokenHost) if a module is not loaded, which says how to load it
 */
Edits plan(const GpuSelection &selection, const Inventory &inventory, const DeviceNodes &host, Notes &notes);

} // namespace ogh::nvidia_devices
