// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "amd-kfd/capabilities.h"

namespace ogh::amd_kfd {

/** What a container is to get. */
struct GpuSelection {
    std::vector<size_t> gpus; ///< places in Inventory::gpus, ascending; none: nothing at all
    Capabilities capabilities;
};

} // namespace ogh::amd_kfd
