// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inventory.h"
#include "listing.h"
#include "selection.h"

namespace ogh::amd_kfd {

/** What --list says: a row for each GPU, in the order of Inventory::gpus. Pure. */
HostListing list_gpus(const Inventory &inventory, const SelectionPolicy &policy);

} // namespace ogh::amd_kfd
