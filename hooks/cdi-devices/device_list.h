// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/log.h"
#include "cdi-devices/request/device_choice.h"
#include "hook/listing.h"
#include "host/sysroot.h"

namespace ogh::cdi_devices {

/**
 * What --list says: a row for each device of the specifications, with what leases know it by where that can be told.
 * @param gives_gpus --give-gpus
 */
HostListing list_devices(const std::vector<cdi::SpecFile> &files, const Policy &policy, bool gives_gpus,
                         const Sysroot &sysroot);

} // namespace ogh::cdi_devices
