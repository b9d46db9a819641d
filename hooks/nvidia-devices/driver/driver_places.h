// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "host/sysroot.h"

namespace ogh::nvidia_devices {

/** Where the driver is. */
struct DriverPlaces {
    const Sysroot &sysroot; ///< the host: the driver's nodes, /proc and /sys
    std::string root;       ///< --driver-root: its files, below the sysroot
};

/** Where its files are. @throws Error: Usage for what is not absolute; BrokenHost if there is no such directory */
Sysroot open_driver_root(const DriverPlaces &places);

} // namespace ogh::nvidia_devices
