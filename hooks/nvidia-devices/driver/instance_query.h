// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "base/log.h"
#include "host/sysroot.h"
#include "nvidia-devices/host/inventory.h"

namespace ogh::nvidia_devices {

/** Why NVIDIA's library cannot be asked: what it takes is not there. */
class NoLibrary : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/**
 * Asks NVIDIA's library (NVML) what it calls instances (MIG). It opens the GPUs, which takes long without persistence mode,
 * and it is loaded by a process that may do nothing: nvidia-devices-nvml, beside this hook's executable. Where this process
 * is root that one is nobody, and sees of the host the driver's nodes alone; else it is what this process is.
 * @param sysroot where the nodes are
 * @param driver_root where the driver's files are
 * @param inventory of a host whose driver's version is known
 * @param addresses of GPUs
 * @param notes that it is not shut in
 * @return as parse_library_answer() takes it
 * @throws NoLibrary; Error (BrokenHost) if the program or the library may be changed by others, or fails; if it cannot be shut in
 */
std::string query_instances(const Sysroot &sysroot, const Sysroot &driver_root, const Inventory &inventory,
                            const std::vector<std::string> &addresses, Notes &notes);

} // namespace ogh::nvidia_devices
