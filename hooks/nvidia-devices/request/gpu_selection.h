// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "nvidia-devices/request/capabilities.h"

namespace ogh::nvidia_devices {

/** What a container is to get. */
struct GpuSelection {
    std::vector<size_t>
        gpus; ///< places in Inventory::gpus, ascending; none: what the driver says of itself alone
    Capabilities capabilities;
    std::vector<unsigned> imex_channels = {}; ///< ascending; the driver has them
};

} // namespace ogh::nvidia_devices
