// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/log.h"
#include "edits/edits.h"
#include "hook/gpu_hook.h"
#include "nvidia-devices/host/inventory.h"
#include "nvidia-devices/image/image.h"
#include "nvidia-devices/plan/driver_tree.h"
#include "nvidia-devices/request/image_requirements.h"

namespace ogh::nvidia_devices {

/** What the plan for a container is made of. */
class NvidiaInputs final : public GpuInputs {
public:
    GpuSelection selection;
    Inventory inventory;                    ///< of a host with the driver
    DeviceNodes nodes;                      ///< as read_device_nodes() reads them for `selection`
    std::vector<RequestValue> requirements; ///< of the image
    DriverTree tree;                        ///< not wanted: no files
    Image image;

    /**
     * The nodes and links that a container gets, its /proc/driver/nvidia, and the tree with the driver's files.
     * @param notes what a capability means and this host does not have
     * @throws Error: BrokenHost if a module is not loaded, which says how to load it; as check_requirements()
     */
    [[nodiscard]] Edits plan(Notes &notes) const override;
};

} // namespace ogh::nvidia_devices
