// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "lease/busy_text.h"
#include "lease/lease_state.h"

namespace ogh {

/** Devices that cannot be given after all, each with the reason: "looks dead: ...". */
using UnfitDevices = std::map<LeaseKey, std::string>;

/** Which of the devices are unfit, and why, for people; "" if none is. @param name nothing: by its key */
std::string unfit_text(const std::vector<LeaseKey> &devices, const UnfitDevices &unfit,
                       const NameDevice &name);

/**
 * Takes them out of what a request may get that has waited.
 * @throws Error if it lacks something then: it would wait in vain
 */
void leave_out(const UnfitDevices &unfit, Demand &demand, const NameDevice &name);

} // namespace ogh
