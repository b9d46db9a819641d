// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "lease/lease_state.h"

namespace ogh {

/** Somebody's request, as the rules see it. */
struct Claim {
    ProcessId init; ///< of the container
    const Demand &demand;
    std::uint64_t ticket = 0; ///< of this request, if it has waited; 0: it has come just now
};

/** What is in the way of a request. */
struct Obstacles {
    std::set<ProcessId> holders;     ///< inits of the containers
    std::set<std::uint64_t> tickets; ///< of requests that came earlier and compete for a device
    std::set<LeaseKey> drains;       ///< what root has drained; nobody waits for that
    std::set<LeaseKey> devices;      ///< those of the request that cannot be given now
};

/** What becomes of a request now. */
struct Decision {
    /** All that is asked for: `fixed` in its order, and then what was chosen. Nothing: something is in the way. */
    std::optional<std::vector<LeaseKey>> granted;
    Obstacles obstacles = {};
    /** It cannot be given however long one waits, since too much of it is drained, or there are too few candidates. */
    bool is_hopeless = false;
};

/**
 * The rules of leases, pure.
 *
 * - Devices that overlap have one exclusive holder or any number that share. A request gets all or nothing.
 * - Requests that compete for a device, where not both share, come first come first served; one that waits for any of
 *   some candidates competes for all of these. A request that does not wait overtakes nobody either.
 * - A container adds to what it has, and is not in its own way; what it has in a mode that suffices needs nothing, and
 *   counts first where any candidate does. It may make a shared lease exclusive if nobody else shares. It overtakes
 *   nobody who has to wait for it anyway.
 * - Any candidates: parts of a GPU of which a part is held before those of a fresh one; where they are shared, fewest
 *   holders first; the least recently used first.
 *
 * @param now CLOCK_BOOTTIME, ns; a ticket whose deadline is not after that does not count
 */
Decision decide(const LeaseState &state, const Claim &claim, std::int64_t now);

} // namespace ogh
