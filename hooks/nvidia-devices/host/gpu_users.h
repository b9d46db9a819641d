// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/sysroot.h"
#include "lease/presence/gpu_users.h"
#include "nvidia-devices/host/inventory.h"

namespace ogh::nvidia_devices {

/**
 * The processes of the host that have a GPU's node open, compared with the kernel's own count: a module counts each open
 * file and each module that is built on it (refcnt), and lists these (holders). Where no file is open nobody is looked for.
 * @throws Error (BrokenHost)
 */
GpuUsers find_users(const Sysroot &sysroot, const Inventory &inventory, const Processes &processes,
                    const Monitors &monitors);

} // namespace ogh::nvidia_devices
