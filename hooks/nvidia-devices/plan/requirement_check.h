// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/log.h"
#include "host/sysroot.h"
#include "nvidia-devices/host/inventory.h"
#include "nvidia-devices/request/requirement.h"

namespace ogh::nvidia_devices {

/**
 * Whether a GPU is what an image requires. Pure.
 * @param gpu names it, for messages
 * @param notes a warning for a requirement of which that cannot be told
 * @throws Error (NotAvailable) for the first requirement that is not met, which says what there is instead
 */
void check_gpu(const std::vector<Requirement> &requirements, const GpuFacts &facts, const std::string &gpu,
               Notes &notes);

/** The same for each of the GPUs that were chosen; of what cannot be told the first is named. */
void check_requirements(const std::vector<Requirement> &requirements, const Sysroot &sysroot,
                        const Inventory &inventory, const std::vector<size_t> &gpus, Notes &notes);

} // namespace ogh::nvidia_devices
