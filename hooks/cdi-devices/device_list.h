// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cdi-devices/request/device_choice.h"
#include "hook/listing.h"

namespace ogh::cdi_devices {

/** What --list says: a row for each device of the specifications. Pure. */
HostListing list_devices(const std::vector<SpecFile> &files, const Policy &policy);

} // namespace ogh::cdi_devices
