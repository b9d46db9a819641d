// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "amd-kfd/sysfs_file.h"
#include "host/sysroot.h"

namespace ogh::amd_kfd {

/** A Ryzen AI processor. */
struct Npu {
    std::string name; ///< in /dev/accel: "accel0"
    DeviceNumber number;

    bool operator==(const Npu &) const = default;
};

/**
 * Reads from sysfs which NPUs there are; those of other drivers than amdxdna share the folder, and are none.
 * @throws Error (Host) if there is none, which says how to load the driver
 */
std::vector<Npu> read_npus(const Sysroot &sysroot);

} // namespace ogh::amd_kfd
