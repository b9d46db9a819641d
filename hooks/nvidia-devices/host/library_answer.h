// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nvidia-devices/host/inventory.h"

namespace ogh::nvidia_devices {

/** What NVIDIA's library (NVML) says of an instance. */
struct LibraryInstance {
    std::string address;    ///< of its GPU, as it was asked for: to_text() of it
    unsigned gpu_index = 0; ///< as the library counts GPUs, which is PCI order
    unsigned index = 0;     ///< of this instance, as the library counts those of a GPU; there may be gaps
    unsigned gpu_instance = 0;
    unsigned compute_instance = 0;
    std::string uuid;    ///< "MIG-…"
    std::string profile; ///< "1g.10gb"; "" if its name has none

    bool operator==(const LibraryInstance &) const = default;
};

/**
 * Understands what nvidia-devices-nvml writes: a line "ADDRESS GPU-INDEX INDEX GPU-INSTANCE COMPUTE-INSTANCE UUID PROFILE"
 * for each instance, with "-" for a profile that is not known, and behind them a line "end".
 * @throws Error (BrokenHost) for anything else
 */
std::vector<LibraryInstance> parse_library_answer(std::string_view text);

/** Of the GPUs that have instances, in PCI order. */
std::vector<std::string> addresses_of_divided(const Inventory &inventory);

/**
 * Notes of each instance what the library calls it. What the driver itself does not show in /proc cannot be named.
 * @throws Error (BrokenHost) if the library names other instances or GPUs than the driver, counts GPUs in another order, or says
 *         something twice
 */
void name_instances(const std::vector<LibraryInstance> &answer, Inventory &inventory);

} // namespace ogh::nvidia_devices
