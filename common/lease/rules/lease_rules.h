// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lease/rules/claim.h"
#include "lease/state/lease_state.h"

namespace ogh {

/** What becomes of a request now. */
struct Decision {
    /** All that is asked for: `fixed` in its order, and then what was chosen. Nothing: something is in the way. */
    std::optional<std::vector<LeaseKey>> granted;
    /** What would have been chosen, were it not used by somebody without a lease, or had it not ended so many at once. */
    std::vector<LeaseKey> passed_by = {};
    Obstacles obstacles = {};
    /** Quotas, by name: another decision may be right as soon as somebody has ended who has or wants some of them. */
    std::set<std::string> depends_on = {};
    /** It cannot be given however long one waits, since too much of it is drained, or there are too few candidates. */
    bool is_hopeless = false;
    /** Those that came earlier are in the way alone: it could not be given either if all holders ended. */
    bool is_behind = false;
};

/** How much of what is in the way of a request is asked for. */
enum class Depth {
    All,
    /**
     * So much that the request cannot be granted as long as those are there: at each device the nearest of the earlier
     * requests that compete there, or else a holder, or those that leave no place; of a request that waits for a quota
     * only those that use it up. Whoever watches these is woken before it could be granted; see lease_wake.h.
     */
    Enough,
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
 * - Where the number of containers that share a device is limited, by this request, by one that has it or by one that came
 *   earlier, requests that share compete as well.
 * - What counts in quotas needs room there, see QuotaRules. Who waits for a quota competes for no device.
 * - Any candidates: those last on which the last containers ended at once, and before these what somebody uses without a
 *   lease; parts of a GPU of which a part is held before those of a fresh one; where they are shared, fewest holders
 *   first; the least recently used first.
 *
 * @param now CLOCK_BOOTTIME, ns; a ticket whose deadline is not after that does not count
 */
Decision decide(const LeaseState &state, const Claim &claim, std::int64_t now, Depth depth = Depth::All);

/** The same for some of the requests that wait, in their order, with enough of what is in the way of each. */
std::vector<Decision> decide_for(const LeaseState &state, const std::vector<const Ticket *> &tickets,
                                 std::int64_t now);

} // namespace ogh
