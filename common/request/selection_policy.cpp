// SPDX-License-Identifier: Apache-2.0
#include "request/selection_policy.h"

#include <algorithm>

#include "request/selectors.h"

namespace ogh {

SelectionPolicy policy_of(const std::optional<std::string> &allow, const std::optional<unsigned> &max_devices)
{
    SelectionPolicy policy;
    if (allow)
        policy.allow = parse_allowed_selectors({*allow, "option '--allow'"});
    policy.max_devices = max_devices;
    return policy;
}

void limit(SelectionPolicy &policy, const KeyLimits &limits)
{
    const auto &max_devices = limits.max_devices;
    if (limits.allow)
        policy.allow_too = parse_allowed_selectors({*limits.allow, "--allow of a line of the key file"});
    if (max_devices)
        policy.max_devices = std::min(*max_devices, policy.max_devices.value_or(*max_devices));
}

} // namespace ogh
