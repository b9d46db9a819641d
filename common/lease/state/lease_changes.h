// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lease/state/lease_state.h"

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
 * @throws Error (BrokenHost) if there is no room for it, see lease_file.h; then the state is worth nothing any more
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

/** @param by what that program has drained alone; nothing: whoever has. @return whether there was such a drain, of just this key */
bool undrain(LeaseState &state, const LeaseKey &key, const std::optional<std::string> &by = {});

/** So many containers in a row that end at once make a device the last one to be chosen. */
constexpr size_t enough_early_exits = 3;

/** Seen to have ended so soon after its lease, in ns, a container has ended at once. */
constexpr std::int64_t early_exit_ns = 10'000'000'000;

/** Whether the last containers that had the device ended at once, each of them another one. */
bool exits_early(const LeaseState &state, const LeaseKey &key);

/**
 * Notes of the devices of those who have gone whether they ended at once. A container that is started again and again is
 * one. Who was ended on purpose, or not started, says nothing of a device; who was there for longer, or is found to have
 * ended later, says that it is well.
 * @param before the state when they were there
 * @param known who was ended on purpose, by init, and why
 * @param now CLOCK_BOOTTIME, ns
 * @param noted those of whom that is done, by init; who is noted now is added
 */
void note_early_exits(const LeaseState &before, const std::map<ProcessId, std::string> &known,
                      std::int64_t now, LeaseState &state, std::set<ProcessId> &noted);

} // namespace ogh
