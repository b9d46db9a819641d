// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lease/lease_rules.h"
#include "lease/presence.h"

namespace ogh {

// A decision by those who are there, and what has to be watched while it stands. The kernel tells nobody who has ended
// until somebody looks, so that the state has some who have.

/** What ends the sleep of a request that waits, as sleep_until_one_ends() takes it. */
struct SleepEnd {
    std::vector<UniqueFd> watched = {}; ///< of processes
    std::int64_t at_ns = 0;             ///< CLOCK_BOOTTIME
};

/**
 * Decides, takes out of the state who has ended of those that were in the way, and decides again, until all of them are
 * there.
 * @param present who has been looked at
 * @param note_ends called each time that somebody was taken out
 */
Decision decide_by_present(const Processes &processes, LeaseState &state, const Claim &claim,
                           std::int64_t now, Present &present, const std::function<void()> &note_ends);

/**
 * Notes with a request that waits what it watches from now on, and adds that to `end`.
 * @param ticket its number
 * @param demand what it asks for without what nobody's end could bring it
 * @param present who has been looked at
 */
void watch(const Processes &processes, LeaseState &state, std::uint64_t ticket, const Demand &demand,
           Present present, std::int64_t now, SleepEnd &end);

} // namespace ogh
