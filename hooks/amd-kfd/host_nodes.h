// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "amd-kfd/inventory.h"
#include "amd-kfd/npu.h"
#include "amd-kfd/wanted.h"
#include "host/drm_nodes.h"
#include "host/host_path.h"

namespace ogh::amd_kfd {

/** What the inventory leaves out, since only what is chosen needs it. */
struct HostNodes {
    std::vector<DrmNodes> drm; ///< of Wanted::gpus, in that order; all have a render node
    std::vector<Npu> npus;     ///< only with Capabilities::npu
};

/**
 * Reads what `wanted` needs beyond the inventory.
 * @throws Error (Host) if there is no NPU; if a GPU's render node is gone
 */
HostNodes read_host_nodes(const Sysroot &sysroot, const Inventory &inventory, const Wanted &wanted);

} // namespace ogh::amd_kfd
