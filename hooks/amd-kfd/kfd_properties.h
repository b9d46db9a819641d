// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "amd-kfd/gfx_version.h"
#include "host/pci_address.h"

namespace ogh::amd_kfd {

/** The properties of a node of KFD's topology that matter here; what the file does not have is 0. */
struct KfdProperties {
    std::uint64_t simd_count = 0;      ///< 0: no GPU
    std::uint64_t cpu_cores_count = 0; ///< with simd_count, a CPU and its GPU in one, as old kernels have it
    std::uint64_t mem_banks_count = 0;
    std::uint64_t local_mem_size = 0; ///< bytes; 0 on current kernels
    std::uint64_t unique_id = 0;      ///< 0: none
    std::uint64_t location_id = 0; ///< bus, device, and function or number of the partition, 8, 5 and 3 bits
    std::uint64_t domain = 0;      ///< of PCI; not there on old kernels
    GfxVersion gfx;
    /** Of the DRM node that belongs to it; nothing if there is none that could be a render node's. */
    std::optional<unsigned> render_minor;

    [[nodiscard]] bool is_gpu() const { return simd_count != 0; }

    bool operator==(const KfdProperties &) const = default;
};

/**
 * Understands a `properties` file: lines of a key, a blank and a decimal number, in any order. Keys that are not known,
 * and lines that are anything else, are passed over.
 */
KfdProperties parse_kfd_properties(std::string_view text);

/** Where the GPU sits, or, of a partition, the GPU that it is a part of; a function other than 0 cannot be told. */
PciAddress parent_address(const KfdProperties &properties);

/** Which partition of its GPU it is, for what is no PCI device itself: the lowest three bits of the location. */
unsigned partition_number(const KfdProperties &properties);

} // namespace ogh::amd_kfd
