// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/listing.h"
#include "nvidia-devices/host/inventory.h"
#include "request/selection.h"

namespace ogh::nvidia_devices {

/** What --list says: the driver's version, and a row for each of candidates(), in that order. Pure. */
HostListing list_gpus(const Inventory &inventory, const SelectionPolicy &policy);

} // namespace ogh::nvidia_devices
