// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lease/lease_state.h"

namespace ogh {

/** What was added to a container's leases, to take back just that. */
struct Grant {
    ProcessId init;
    std::vector<LeaseKey> added;
    std::vector<LeasedDevice> changed; ///< as they were: from shared to exclusive, quotas, limits
    std::optional<GrantedRequests> requests_before = {}; ///< if they have changed
};

/**
 * Enters what decide() has granted, and takes the ticket away if there is one.
 * @throws Error (BrokenHost) if there is no room for it, see lease_bounds.h; then the state is worth nothing any more
 */
Grant enter(LeaseState &state, const Holder &holder, const Ticket &request,
            const std::vector<LeaseKey> &granted, std::int64_t now);

/**
 * Enters that the container sees the devices, besides those that it sees already.
 * @throws Error (BrokenHost) as enter()
 */
void observe(LeaseState &state, const Holder &holder, const std::vector<LeaseKey> &keys, std::int64_t now,
             std::int64_t since);

/** Takes back what was added; what the container had before stays. */
void take_back(LeaseState &state, const Grant &grant);

/** Puts a request at the end of those that wait, and numbers it. @return the number. @throws Error as enter() */
std::uint64_t queue(LeaseState &state, Ticket ticket);

/** Puts a request back that had been granted, at the place that its number has. */
void queue_again(LeaseState &state, Ticket ticket);

void remove_ticket(LeaseState &state, std::uint64_t number);

/** Takes away all that the container has. */
void remove_holder(LeaseState &state, const ProcessId &init);

/** Takes away the tickets and the drains that do not count any more. */
void expire(LeaseState &state, std::int64_t now);

/**
 * A drain of the same key by the same one keeps its `since`, and has the end and the reason of this one.
 * @return whether it was new
 */
bool drain(LeaseState &state, const Drain &drain);

/** Whoever made it. @return whether there was such a drain, of just this key */
bool undrain(LeaseState &state, const LeaseKey &key);

/** Only what that program has drained. @return the same */
bool undrain(LeaseState &state, const LeaseKey &key, const std::string &by);

} // namespace ogh
