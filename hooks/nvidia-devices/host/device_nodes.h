// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/drm_nodes.h"
#include "host/sysroot.h"
#include "nvidia-devices/host/inventory.h"
#include "nvidia-devices/request/gpu_selection.h"

namespace ogh::nvidia_devices {

/** A node that another module than the driver's own has. */
struct NamedNode {
    std::string path; ///< absolute, the same on the host and in the container
    unsigned major = 0;
    unsigned minor = 0;

    bool operator==(const NamedNode &) const = default;
};

/** What the inventory leaves out, since few containers ask for it. */
struct DeviceNodes {
    std::map<size_t, DrmNodes>
        drm; ///< by place in Inventory::gpus; none without graphics and display, or of what is divided
    std::vector<NamedNode> named; ///< of Gds, Gdrcopy and Mofed
};

/**
 * Reads what `selection` needs beyond the inventory, from sysfs.
 * @throws Error (BrokenHost) if there is nothing of what was named, with the module to load; for a device without number
 */
DeviceNodes read_device_nodes(const Sysroot &sysroot, const Inventory &inventory,
                              const GpuSelection &selection);

} // namespace ogh::nvidia_devices
