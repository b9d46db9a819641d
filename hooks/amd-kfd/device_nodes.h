// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "amd-kfd/gpu_selection.h"
#include "amd-kfd/inventory.h"
#include "amd-kfd/npu.h"
#include "host/drm_nodes.h"
#include "host/sysroot.h"

namespace ogh::amd_kfd {

/** What the inventory leaves out, since only what is chosen needs it. */
struct DeviceNodes {
    std::map<size_t, DrmNodes> drm; ///< by place in Inventory::gpus; all have a render node
    std::vector<Npu> npus;          ///< only with Capabilities::npu
};

/**
 * Reads what `selection` needs beyond the inventory.
 * @throws Error (Host) if there is no NPU; if a GPU's render node is gone
 */
DeviceNodes read_device_nodes(const Sysroot &sysroot, const Inventory &inventory,
                              const GpuSelection &selection);

} // namespace ogh::amd_kfd
