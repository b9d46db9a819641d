// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cdi-devices/request/device_choice.h"
#include "cdi/spec.h"

namespace ogh::cdi_devices {

/**
 * The edits of all devices in one, those of a file before those of its first device. Of nodes and of mounts with the same
 * path in the container the last remains; mounts are in the order of how deep they lie, so that none hides another. Pure.
 */
cdi::ContainerEdits combine(const std::vector<FoundDevice> &devices);

} // namespace ogh::cdi_devices
