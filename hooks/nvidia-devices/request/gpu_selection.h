// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "nvidia-devices/request/capabilities.h"

namespace ogh::nvidia_devices {

/** An instance of a GPU that is divided (MIG). */
struct InstancePlace {
    size_t gpu = 0;      ///< in Inventory::gpus
    size_t instance = 0; ///< in Gpu::instances

    bool operator==(const InstancePlace &) const = default;
};

/** What a container is to get. */
struct GpuSelection {
    std::vector<size_t>
        gpus; ///< places in Inventory::gpus, ascending; none: what the driver says of itself alone
    Capabilities capabilities;
    std::vector<unsigned> imex_channels = {}; ///< ascending; the driver has them
    std::vector<InstancePlace> instances =
        {}; ///< ascending; of those of `gpus` that are divided, what the container gets
};

} // namespace ogh::nvidia_devices
