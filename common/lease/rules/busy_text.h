// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "lease/rules/lease_rules.h"
#include "lease/rules/preemption.h"

namespace ogh {

/** How a message names a device, such as "GPU 0 (GPU-...)". */
using NameDevice = std::function<std::string(const LeaseKey &)>;

/**
 * Who is in the way of the request, and since when, for a message: each device that cannot be given, by whom it is held,
 * waited for or drained, and each quota that is used up, with the ids of the containers whole.
 * @param name nothing: a device is named by its key
 * @param preemptibles of holders: it says who may be ended, or was never started
 */
std::string busy_text(const LeaseState &state, const Decision &decision, const Demand &demand,
                      const NameDevice &name, const Preemptibles &preemptibles = {});

} // namespace ogh
