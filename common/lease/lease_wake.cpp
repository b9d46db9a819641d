// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_wake.h"

#include <algorithm>

#include "lease/boot_clock.h"
#include "lease/lease_rules.h"
#include "lease/wait.h"

namespace ogh {

namespace {

template<typename Item> bool has_all(const std::set<Item> &some, const std::set<Item> &others)
{
    return std::includes(some.begin(), some.end(), others.begin(), others.end());
}

bool is_enough(const Watched &watched, const Watched &needed)
{
    return has_all(watched.holders, needed.holders) && has_all(watched.tickets, needed.tickets) &&
           (needed.drain_ns == 0 || (watched.drain_ns != 0 && watched.drain_ns <= needed.drain_ns));
}

} // namespace

Watched watched_of(const LeaseState &state, const Obstacles &obstacles)
{
    Watched watched{obstacles.holders, obstacles.tickets};
    for (const Drain &drain : state.drains) {
        if (drain.until_ns != 0 && obstacles.drains.contains(drain.key) &&
            (watched.drain_ns == 0 || drain.until_ns < watched.drain_ns))
            watched.drain_ns = drain.until_ns;
    }
    return watched;
}

std::int64_t next_deadline(const LeaseState &state, const std::set<std::uint64_t> &numbers,
                           std::int64_t limit)
{
    for (const Ticket &ticket : state.tickets) {
        if (numbers.contains(ticket.number))
            limit = std::min(limit, ticket.deadline_ns);
    }
    return limit;
}

std::vector<const Ticket *> waiters_to_wake(const LeaseState &state, std::int64_t now)
{
    std::vector<const Ticket *> found;
    if (state.tickets.empty())
        return found;
    const std::vector<Decision> decisions = decide_for_all(state, now);
    for (size_t i = 0; i < decisions.size(); ++i) {
        const Ticket &ticket = state.tickets[i];
        const Decision &decision = decisions[i];
        if (ticket.watched && (decision.granted || decision.is_hopeless ||
                               !is_enough(*ticket.watched, watched_of(state, decision.obstacles))))
            found.push_back(&ticket);
    }
    return found;
}

void wake_waiters(const Processes &processes, const LeaseState &state)
{
    for (const Ticket *ticket : waiters_to_wake(state, boottime_ns())) {
        if (const auto hook = processes.find(ticket->hook))
            wake(hook->get());
    }
}

} // namespace ogh
