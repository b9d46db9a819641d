// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "install/changes.h"

namespace ogh::admin {

/**
 * What docker's flag --gpus calls: nvidia-devices with the policy, and then ldcache-update if it is there.
 * @throws Error (BrokenHost) where NVIDIA's own program of that name is, on a host whose GPUs are all AMD's, or with what
 *         the doctor finds; (Usage) for another hook, and for options that say who asks
 */
InstallPlan plan_gpu_flag(const InstallHost &host, const InstallRequest &request);

} // namespace ogh::admin
