// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvidia-devices/request/capabilities.h"
#include "oci/config.h"

namespace ogh::nvidia_devices {

/** Whether MigConfig or MigMonitor is there. */
bool has_mig_right(const Capabilities &capabilities);

/**
 * To divide GPUs (MigConfig), or to look at how all of them are (MigMonitor), is a right over the host and not over one GPU.
 * It is given where the host names it, to a container that could have CAP_SYS_ADMIN, as NVIDIA's toolkit demands.
 * @param wanted within what the host hands out
 * @param is_limited whether the host says which capabilities it hands out
 * @param config nullptr if there is no container
 * @throws Error (Policy)
 */
void require_mig_rights(const Capabilities &wanted, bool is_limited, const Config *config);

} // namespace ogh::nvidia_devices
