// SPDX-License-Identifier: Apache-2.0
#include "lease/claim.h"

namespace ogh {

bool is_ahead(const Ticket &ticket, const Claim &claim, std::int64_t now)
{
    return (claim.ticket == 0 || ticket.number < claim.ticket) && ticket.deadline_ns > now &&
           ticket.holder.init != claim.init;
}

void Obstacles::add(const Obstacles &more)
{
    holders.insert(more.holders.begin(), more.holders.end());
    tickets.insert(more.tickets.begin(), more.tickets.end());
    drains.insert(more.drains.begin(), more.drains.end());
    devices.insert(more.devices.begin(), more.devices.end());
    quotas.insert(more.quotas.begin(), more.quotas.end());
}

} // namespace ogh
