// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "hook/gpu_vendor.h"
#include "nvidia-devices/host/device_nodes.h"
#include "nvidia-devices/host/inventory.h"
#include "nvidia-devices/image/image.h"
#include "nvidia-devices/plan/driver_tree.h"
#include "nvidia-devices/request/gpu_selection.h"
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

} // namespace ogh::nvidia_devices
