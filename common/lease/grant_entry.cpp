// SPDX-License-Identifier: Apache-2.0
#include "lease/grant_entry.h"

#include "base/contains.h"
#include "base/error.h"
#include "lease/container_cgroup.h"

namespace ogh {

namespace {

void check_count(const LeaseState &state, const LeaseRequest &request, const ProcessId &init,
                 const std::vector<LeaseKey> &granted)
{
    if (!request.max_devices || granted.empty())
        return;
    const size_t count = count_with(state, init, granted, request.counted);
    if (count > *request.max_devices)
        throw Error(ErrorKind::Denied,
                    "with what it was given before the container would have " + std::to_string(count) + " " +
                        request.word + ", and --max-devices allows " + std::to_string(*request.max_devices));
}

/** What tells later how long it may have what it was given, and whether something has begun in it. */
void note_limits(const Processes &processes, LeaseState &state, const LeaseRequest &request,
                 const ProcessId &init, std::int64_t now)
{
    for (Allocation &allocation : state.allocations) {
        if (allocation.holder.init != init)
            continue;
        if (allocation.taken_ns == now && contains(request.preemption.idle_inits, request.program))
            allocation.others_cpu_ns = cpu_of_others(processes, allocation.holder);
        if (!request.hold)
            continue;
        const std::int64_t until = allocation.taken_ns + request.hold->most.count();
        if (!allocation.limit || until < allocation.limit->until_ns)
            allocation.limit = HoldLimit{until, request.hold->grace.count(), request.hold->signal};
    }
}

/** Until the container has what it is given now, what an earlier request has noted is not all that it has. */
void forget_rules(LeaseState &state, const Grant &grant)
{
    for (Allocation &allocation : state.allocations) {
        if (allocation.holder.init == grant.init && allocation.rules && !grant.added.empty())
            allocation.rules = DeviceRules();
    }
}

} // namespace

Grant enter_grant(const Processes &processes, LeaseState &state, const LeaseRequest &request,
                  const FurtherRequest &further, const Ticket &ticket, const std::vector<LeaseKey> &granted,
                  std::int64_t now)
{
    const ProcessId &init = ticket.holder.init;
    check_count(state, request, init, granted);
    Grant grant = enter(state, ticket.holder, ticket, granted, now);
    note_limits(processes, state, request, init, now);
    forget_rules(state, grant);
    grant.requests_before = note_request(state, init, further, granted);
    return grant;
}

} // namespace ogh
