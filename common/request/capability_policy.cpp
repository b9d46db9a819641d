// SPDX-License-Identifier: Apache-2.0
#include "request/capability_policy.h"

#include "base/text.h"

namespace ogh {

Error capability_not_allowed(std::string_view capability, const std::vector<std::string> &allowed)
{
    const std::string offer = allowed.empty() ? "none" : quote_list(allowed);
    return {ErrorKind::Denied,
            "no capability " + quote(capability) +
                ": the host's policy (--allow-capabilities) does not allow it; it allows " + offer};
}

} // namespace ogh
