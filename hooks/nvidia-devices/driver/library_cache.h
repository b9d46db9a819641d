// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/log.h"
#include "nvidia-devices/driver/driver_root.h"

namespace ogh::nvidia_devices {

/** A library that the host's loader cache names. */
struct CachedLibrary {
    std::string name;         ///< "libcuda.so.1"
    std::string path;         ///< absolute below the driver's root; mostly a symlink
    std::int32_t machine = 0; ///< the machine's bits of its flags

    bool operator==(const CachedLibrary &) const = default;
};

/**
 * The libraries of library_names() that the loader cache below the driver's root has, of whatever version and machine,
 * in the cache's order.
 * @return nothing if there is none; NixOS, Talos and musl's hosts have none
 * @param notes says why one that is there is of no use
 */
std::vector<CachedLibrary> read_library_cache(const DriverRoot &root, Notes &notes);

} // namespace ogh::nvidia_devices
