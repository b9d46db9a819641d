// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "hook/listing.h"
#include "nvidia-devices/host/inventory.h"
#include "nvidia-devices/request/imex_channels.h"
#include "request/selection.h"

namespace ogh::nvidia_devices {

/** What --list says: the driver's version, and a row for each of candidates(), in that order. Pure. */
HostListing list_gpus(const Inventory &inventory, const SelectionPolicy &policy);

/** The IMEX channels that the driver has, and those that may be given: "0-2047, allowed: 0-3"; nothing if it has none. */
std::optional<std::string> imex_fact(const Inventory &inventory, const ImexPolicy &policy);

} // namespace ogh::nvidia_devices
