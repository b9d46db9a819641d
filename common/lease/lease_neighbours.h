// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "lease/claim.h"
#include "lease/lease_state.h"

namespace ogh {

/** The devices that a request must have, or may get. As long as the demand lasts. */
std::vector<const LeaseKey *> devices_of(const Demand &demand);

/** The containers that have something which overlaps what is asked for: those that it is worth looking after. */
std::set<ProcessId> holders_near(const LeaseState &state, const Demand &demand);

/** The same for requests that wait, by number. */
std::set<std::uint64_t> tickets_near(const LeaseState &state, const Demand &demand);

/**
 * Who has devices by one of these quotas, or waits for some, and by one that hangs together with it: somebody who waits has
 * both. They may be anywhere on the host. @return holders and tickets
 */
Obstacles with_quotas(const LeaseState &state, std::set<std::string> names);

} // namespace ogh
