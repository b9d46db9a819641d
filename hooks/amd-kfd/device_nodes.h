// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "amd-kfd/inventory.h"
#include "host/drm_nodes.h"
#include "host/sysroot.h"

namespace ogh::amd_kfd {

/** What only a chosen GPU needs, by its place in Inventory::gpus; all have a render node. */
using DeviceNodes = std::map<size_t, DrmNodes>;

/**
 * Reads what the chosen GPUs need beyond the inventory.
 * @param gpus places in Inventory::gpus
 * @throws Error (BrokenHost) if a GPU's render node is gone
 */
DeviceNodes read_device_nodes(const Sysroot &sysroot, const Inventory &inventory,
                              const std::vector<size_t> &gpus);

} // namespace ogh::amd_kfd
