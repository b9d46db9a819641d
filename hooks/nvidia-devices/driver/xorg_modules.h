// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "nvidia-devices/driver/driver_file.h"
#include "nvidia-devices/driver/driver_root.h"

namespace ogh::nvidia_devices {

/**
 * The driver's modules for the X server, as far as they are there.
 * @param library_folders where the driver's libraries are, below the root
 * @throws Error if looking fails
 */
std::vector<DriverFile> find_xorg_modules(const DriverRoot &root,
                                          const std::vector<std::string> &library_folders,
                                          const std::string &version);

} // namespace ogh::nvidia_devices
