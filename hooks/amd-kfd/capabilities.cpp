// SPDX-License-Identifier: Apache-2.0
#include "amd-kfd/capabilities.h"

#include "base/error.h"
#include "base/text.h"
#include "request/capability_policy.h"

namespace ogh::amd_kfd {

Capabilities parse_capabilities(const RequestValue &asked)
{
    Capabilities capabilities;
    for (const std::string &item : split_list(asked.value)) {
        if (item != "npu")
            throw Error(ExitCode::Usage,
                        "the " + asked.origin + " has " +
                            (item.empty() ? "an empty item" : quote(item) + ", which is no capability,") +
                            " in " + quote(asked.value) + "; it takes 'npu'");
        capabilities.npu = true;
    }
    return capabilities;
}

Capabilities parse_allowed_capabilities(const RequestValue &list)
{
    return list.value == no_capability ? Capabilities{} : parse_capabilities(list);
}

void check_permitted(const Capabilities &wanted, const Capabilities &allowed)
{
    if (wanted.npu && !allowed.npu)
        throw capability_not_allowed("npu", {});
}

} // namespace ogh::amd_kfd
