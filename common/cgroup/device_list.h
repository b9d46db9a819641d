// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "edits/device_rule.h"

namespace ogh {

/**
 * Whether devices.list of a cgroup of version 1 allows all of the rule. One line has to: the kernel does not put lines
 * together. "a *:* rwm" stands for all devices, even if some were denied: that is not shown.
 */
bool list_allows(std::string_view devices_list, const DeviceRule &rule);

/** The access in the line for exactly this device, 0 if there is none. */
unsigned access_in_own_line(std::string_view devices_list, const DeviceRule &rule);

} // namespace ogh
