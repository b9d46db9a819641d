// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lease/lease_request.h"
#include "lease/presence/processes.h"
#include "lease/state/lease_changes.h"
#include "lease/state/lease_state.h"

namespace ogh {

// The requests of one container add up, in whatever order they come: it has what is named, once, and besides as many
// devices as `any` asks for in all of them. A request that comes again, as from a hook that is registered twice, is
// granted what it was granted before. A container that starts again is another one: it has another init.

/** What is left of a request for a container that may have devices by earlier ones. */
struct RemainingRequest {
    Demand demand;
    std::string name = {};   ///< LeaseRequest::name; "" if there is nothing to be noted
    bool is_for_all = false; ///< then what is chosen is not noted: nothing takes its place
    std::vector<LeaseKey> displaced =
        {}; ///< chosen for earlier requests, and now named: others are chosen instead
};

/**
 * The request beside what the container has. Pure.
 * @throws Error (NotAvailable) if there are not so many devices besides
 */
RemainingRequest remaining_request(const LeaseState &state, const ProcessId &init,
                                   const LeaseRequest &request);

/**
 * Notes with the container's entry what was chosen.
 * @param granted as decide() grants it for the demand
 * @return what was noted there before, if that has changed
 */
std::optional<GrantedRequests> note_request(LeaseState &state, const ProcessId &init,
                                            const RemainingRequest &request,
                                            const std::vector<LeaseKey> &granted);

/**
 * Enters what decide() has granted, as enter() does, with what is to be known of it later: how long the container may have
 * it, whether something has begun in the container, and what was chosen for which of its requests.
 * @param remaining what is left of `request`
 * @param ticket of the request, with the container; its number is 0 where it has not waited
 * @throws Error (Denied) where the container would have more devices than LeaseRequest::max_devices; as enter() besides
 */
Grant enter_grant(const Processes &processes, LeaseState &state, const LeaseRequest &request,
                  const RemainingRequest &remaining, const Ticket &ticket,
                  const std::vector<LeaseKey> &granted, std::int64_t now);

} // namespace ogh
