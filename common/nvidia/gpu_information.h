// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ogh {

/** The highest minor number of a GPU's node; those above belong to the driver itself. */
constexpr unsigned max_gpu_minor = 247;

/** What the driver says of one GPU. */
struct GpuInformation {
    std::string model;             ///< "" if it is not said
    std::string uuid;              ///< "GPU-…"; "" while the driver does not know it
    std::optional<unsigned> minor; ///< of /dev/nvidiaN
    bool is_excluded = false;      ///< the host's administrator keeps it from use (NVreg_ExcludedGpus)

    bool operator==(const GpuInformation &) const = default;
};

/** Understands /proc/driver/nvidia/gpus/ADDRESS/information; lines of other keys are passed over. */
GpuInformation parse_gpu_information(std::string_view text);

} // namespace ogh
