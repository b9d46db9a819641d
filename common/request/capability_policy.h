// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace ogh {

/** What stands for no capability at all in --allow-capabilities. */
constexpr std::string_view no_capability = "none";

/** The error for a capability that the host's policy does not hand out. @param allowed those that it does */
Error capability_not_allowed(std::string_view capability, const std::vector<std::string> &allowed);

} // namespace ogh
