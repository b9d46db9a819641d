// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "lease/lease_state.h"
#include "lease/lease_wake.h"

namespace ogh {

// A thousand may wait behind one that is served. Of them all but the next few go on sleeping, and of their tickets nobody
// needs more than the text that stands in the file.

/** All in the state whom somebody may watch. */
Watched all_in(const LeaseState &state);

/**
 * Moves those that waiters_to_wake() may find, and all before them, from the lines of the lease file to the state: up to
 * the last one that watches somebody who has gone, or whose container has something; all if touches_all().
 * @param before all that were in the state when it was read; @param later LeaseFilePart::later
 * @throws Error (BrokenHost)
 */
void read_touched(const Watched &before, LeaseState &state, std::string_view &later, StateChange change);

} // namespace ogh
