// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/log.h"
#include "host/sysroot.h"
#include "nvidia-devices/driver/driver_file.h"
#include "nvidia-devices/driver/driver_root.h"
#include "nvidia-devices/request/capability_bits.h"

namespace ogh::nvidia_devices {

/**
 * Programs, configuration, sockets, and the directory of MPS, as far as they are there.
 * @param version of the driver
 * @param notes gets which programs are there and of no use
 * @throws Error if looking fails
 */
std::vector<DriverFile> find_files(const DriverRoot &root, const std::string &version, CapabilityBits wanted,
                                   Notes &notes);

/**
 * The firmware of the GPUs' own processor (GSP) for that driver: nvidia/VERSION/gsp*.bin in the first of the directories
 * in which the kernel looks for firmware that has any, or of the driver's root.
 * @param host which has the kernel
 * @throws Error if looking fails
 */
std::vector<DriverFile> find_firmware(const DriverRoot &root, const Sysroot &host,
                                      const std::string &version);

} // namespace ogh::nvidia_devices
