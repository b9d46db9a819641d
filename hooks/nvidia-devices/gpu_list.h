// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inventory.h"
#include "listing.h"
#include "selection.h"

namespace ogh::nvidia_devices {

/** What --list says: the driver's version, and a row for each GPU, in the order of Inventory::gpus. Pure. */
HostListing list_gpus(const Inventory &inventory, const SelectionPolicy &policy);

} // namespace ogh::nvidia_devices
