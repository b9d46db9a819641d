// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/request/mig_rights.h"

#include <string>

#include "base/error.h"
#include "base/text.h"

namespace ogh::nvidia_devices {

bool has_mig_right(const Capabilities &capabilities)
{
    return capabilities.has(Capability::MigConfig) || capabilities.has(Capability::MigMonitor);
}

void require_mig_rights(const Capabilities &wanted, bool is_limited, const Config *config)
{
    if (!has_mig_right(wanted))
        return;
    const Capability right =
        wanted.has(Capability::MigConfig) ? Capability::MigConfig : Capability::MigMonitor;
    const std::string name = "no capability " + quote(name_of(right)) + ": ";
    if (!is_limited)
        throw Error(ExitCode::Policy, name +
                                          "it is a right over all GPUs of the host, which hands it out only "
                                          "where its policy (--allow-capabilities) names it");
    if (config != nullptr && !config->may_administer)
        throw Error(ExitCode::Policy,
                    name +
                        "the container lacks CAP_SYS_ADMIN (process.capabilities.bounding of config.json), "
                        "without which this right is not given");
}

} // namespace ogh::nvidia_devices
