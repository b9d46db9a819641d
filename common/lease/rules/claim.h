// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "lease/state/lease_state.h"

namespace ogh {

/** Somebody's request, as the rules see it. */
struct Claim {
    ProcessId init; ///< of the container
    const Demand &demand;
    std::uint64_t ticket = 0; ///< of this request, if it has waited; 0: it has come just now
    std::set<LeaseKey> in_use =
        {}; ///< whole GPUs that somebody uses without a lease; others are chosen first
};

/** Whether a request that waits came before this one; not one whose time is over, nor one of the same container. */
bool is_ahead(const Ticket &ticket, const Claim &claim, std::int64_t now);

/** What is in the way of a request. */
struct Obstacles {
    std::set<ProcessId> holders = {}; ///< inits of the containers
    /** Of requests that came earlier and compete for a device or a quota. */
    std::set<std::uint64_t> tickets = {};
    std::set<LeaseKey> drains = {};    ///< what root has drained; nobody waits for that
    std::set<LeaseKey> devices = {};   ///< those of the request that cannot be given now
    std::set<std::string> quotas = {}; ///< those of the request, by name, that leave no room for it now

    void add(const Obstacles &more);
};

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
