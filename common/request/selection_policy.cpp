// SPDX-License-Identifier: Apache-2.0
#include "request/selection_policy.h"

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
    if (limits.allow)
        policy.allow_too = parse_allowed_selectors({*limits.allow, "--allow of a line of the key file"});
    if (limits.max_devices && (!policy.max_devices || *limits.max_devices < *policy.max_devices)) {
        policy.max_devices = limits.max_devices;
        policy.is_most_by_key = true;
    }
}

} // namespace ogh
