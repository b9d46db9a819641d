// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "host/sysroot.h"
#include "nvidia-devices/host/inventory.h"
#include "nvidia-devices/request/requirement.h"

namespace ogh::nvidia_devices {

// What the driver's library tells of a GPU, and its files in /proc do not, by rules: no GPU is opened, and no library
// loaded.

/**
 * The version of CUDA that a driver brings, by its major version (NVIDIA's release notes of the CUDA toolkit); of a
 * driver that is not in the table, that of the one before it, or newer.
 * @return nothing for a driver that is older than all of the table
 */
std::optional<KnownVersion> cuda_of_driver(std::string_view version);

/**
 * The compute capability of a GPU by its PCI device id, of which NVIDIA gives each chip a range (pci.ids).
 * @return nothing for a chip that is not in the table, or shares a range with another one
 */
std::optional<KnownVersion> arch_of_device(unsigned device_id);

/**
 * The brands that NVML may give a GPU of this name, in small letters: which of two it is depends on the driver's version.
 * @return nothing if the name tells no brand
 */
std::vector<std::string_view> brands_of_model(std::string_view model);

/**
 * All of that for a GPU.
 * @param gpu a place in Inventory::gpus
 * @throws Error (BrokenHost) if sysfs cannot be read; a GPU that is not in it has no known architecture
 */
GpuFacts read_gpu_facts(const Sysroot &sysroot, const Inventory &inventory, size_t gpu);

} // namespace ogh::nvidia_devices
