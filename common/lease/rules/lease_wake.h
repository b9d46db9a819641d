// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "lease/rules/claim.h"
#include "lease/state/lease_state.h"

namespace ogh {

// How nobody sleeps who could be served, and few wake who could not.
//
// Whoever waits watches enough of what is in its way (Depth::Enough), and writes it down in its ticket. Everything else
// happens under the lock, and whoever changes the state wakes those that the change leaves with too little to watch: they
// can be granted now, will never be, or what is in their way has become something else. The end of a process changes no
// state. Those that watch it take the lock, take it out, and so become one who changes the state.
//
// That is enough: take the first in the queue for whom the ends that nobody has entered yet make a difference. For those
// before it they make none, so it is a holder or an earlier request in its own way that has ended, and one of those that
// it watches. A stopped hook notices nothing; who depends on what it alone watches, as by a second quota of its, does so
// when somebody else looks, or when its time is over.

/** What of what is in the way is to be watched. */
Watched watched_of(const LeaseState &state, const Obstacles &obstacles);

/** When the next of these tickets does not count any more; tickets of processes that stand still have an end too. */
std::int64_t next_deadline(const LeaseState &state, const std::set<std::uint64_t> &numbers,
                           std::int64_t limit);

/**
 * The requests that have to look at the state, of those that take the signal; pure. In their order. In their tickets it
 * says what those have to watch then that go on waiting: so they need not write it down themselves.
 */
std::vector<const Ticket *> waiters_to_wake(LeaseState &state, std::int64_t now);

} // namespace ogh
