// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/pci_address.h"
#include "host/sysroot.h"

namespace ogh::admin {

/** A display controller that a GPU driver has, as sysfs shows it. */
struct PciGpu {
    std::string vendor; ///< of lease keys: "nvidia", "amd"
    PciAddress address;
    bool is_virtual = false; ///< a virtual function
    /**
     * Which time that its driver has taken it: the number of its link among the driver's devices in sysfs, which is made
     * anew each time. The kernel uses no such number twice before the next boot (kernfs_new_node() of Linux).
     */
    std::uint64_t binding = 0;
};

/** Those of nvidia and amdgpu, by vendor and address. Looking at them wakes none. @throws Error */
std::vector<PciGpu> find_pci_gpus(const Sysroot &sysroot);

/**
 * Sums up `ras/NAME_err_count` of a GPU of amdgpu's. Reading them asks the hardware, and on many GPUs sets them to 0: for
 * whoever asks for it alone. One that is asleep is not woken.
 * @return nothing where it does not count, is asleep, or does not answer now. @throws Error
 */
std::optional<std::uint64_t> uncorrectable_errors(const Sysroot &sysroot, const PciAddress &address);

} // namespace ogh::admin
