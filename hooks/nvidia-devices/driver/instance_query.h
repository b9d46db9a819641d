// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "host/sysroot.h"

namespace ogh::nvidia_devices {

/** Why NVIDIA's library cannot be asked: what it takes is not there. */
class NoLibrary : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/**
 * Asks NVIDIA's library (NVML) what it calls instances (MIG). It opens the GPUs, which takes long without persistence mode,
 * and it is loaded by a process that may do nothing: nvidia-devices-nvml, beside this hook's executable.
 * @param driver_root where the driver's files are
 * @param version of the kernel module
 * @param addresses of GPUs
 * @return as parse_library_answer() takes it
 * @throws NoLibrary; Error (Host) if the program or the library may be changed by others, or fails
 */
std::string query_instances(const Sysroot &driver_root, const std::string &version,
                            const std::vector<std::string> &addresses);

} // namespace ogh::nvidia_devices
