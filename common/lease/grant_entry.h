// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "lease/further_request.h"
#include "lease/lease_changes.h"
#include "lease/lease_request.h"
#include "lease/processes.h"

namespace ogh {

/**
 * Enters what decide() has granted, as enter() does, with what is to be known of it later: how long the container may have
 * it, whether something has begun in the container, and what was chosen for which of its requests.
 * @param further what is left of `request`
 * @param ticket of the request, with the container; its number is 0 where it has not waited
 * @throws Error (Denied) where the container would have more devices than LeaseRequest::max_devices; as enter() besides
 */
Grant enter_grant(const Processes &processes, LeaseState &state, const LeaseRequest &request,
                  const FurtherRequest &further, const Ticket &ticket, const std::vector<LeaseKey> &granted,
                  std::int64_t now);

} // namespace ogh
