// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/sysroot.h"

namespace ogh::admin {

/** A GPU on the PCI bus, by /sys/bus/pci/devices. */
struct PciGpu {
    std::string address;
    unsigned vendor;    ///< 0x10de, 0x1002
    std::string driver; ///< that it is bound to; "" if none
};

inline constexpr unsigned nvidia_vendor = 0x10de;
inline constexpr unsigned amd_vendor = 0x1002;

/** Display controllers and processing accelerators of the two vendors. */
std::vector<PciGpu> pci_gpus(const Sysroot &sysroot);

/** The version of NVIDIA's kernel module. @return nothing if it is not loaded, or says none */
std::optional<std::string> nvidia_module_version(const Sysroot &sysroot);

/** The versions of NVIDIA's user-space files, by the names of libcuda and libnvidia-ml in the usual folders. */
std::vector<std::string> nvidia_file_versions(const Sysroot &sysroot);

} // namespace ogh::admin
