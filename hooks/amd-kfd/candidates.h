// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "amd-kfd/inventory.h"
#include "listing/listing.h"
#include "request/selection.h"
#include "request/selectors.h"

namespace ogh::amd_kfd {

/** "GPU-" and 16 digits, as ROCm's own variables have it; "" for 0, which is no id. */
std::string uuid_text(std::uint64_t unique_id);

/**
 * The GPUs as one may ask for them, in the order of Inventory::gpus: by index, by address (all partitions of a GPU), and
 * by these names: `GPU-…` and `0x…` of KFD's unique id, and of DRM's, which for a partition is that of the whole GPU;
 * `renderD129`; `card1`; `0:3`, the GPU in PCI order and the number of its partition. Groups are `gfx1100` and the like,
 * `dgpu` and `igpu`.
 *
 * Beside a usable GPU of its own, an integrated one is left out of `all` and `any`: ROCm programs fail on it as often as
 * not, and take the other with them.
 */
std::vector<Candidate> candidates(const Inventory &inventory);

/** What --list says: a row for each GPU, in the order of Inventory::gpus. @param gpus their candidates() */
HostListing list_gpus(const Inventory &inventory, const std::vector<Candidate> &gpus,
                      const SelectionPolicy &policy);

} // namespace ogh::amd_kfd
