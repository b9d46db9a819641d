// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "lease/lease_state.h"

namespace ogh {

/** The devices that a request must have, or may get. As long as the demand lasts. */
std::vector<const LeaseKey *> devices_of(const Demand &demand);

/** The containers that have something which overlaps what is asked for: those that it is worth looking after. */
std::set<ProcessId> holders_near(const LeaseState &state, const Demand &demand);

/** The same for requests that wait, by number. */
std::set<std::uint64_t> tickets_near(const LeaseState &state, const Demand &demand);

} // namespace ogh
