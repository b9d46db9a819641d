// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/log.h"
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

/**
 * The same for each of the GPUs that were chosen; of what cannot be told the first is named.
 * @param facts of each of `gpus`, in their order
 */
void check_requirements(const std::vector<Requirement> &requirements, const std::vector<GpuFacts> &facts,
                        const std::vector<size_t> &gpus, const Inventory &inventory, Notes &notes);

} // namespace ogh::nvidia_devices
