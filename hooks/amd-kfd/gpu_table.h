// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "amd-kfd/inventory.h"
#include "hook/listing.h"
#include "request/selection.h"

namespace ogh::amd_kfd {

/** What --list says: a row for each GPU, in the order of Inventory::gpus. Pure. */
HostListing list_gpus(const Inventory &inventory, const SelectionPolicy &policy);

} // namespace ogh::amd_kfd
