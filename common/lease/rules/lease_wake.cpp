// SPDX-License-Identifier: Apache-2.0
#include "lease/rules/lease_wake.h"

#include <algorithm>
#include <utility>

#include "lease/rules/lease_rules.h"
#include "lease/state/lease_file.h"

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

/** What is too much to be written down stays as it is: the next change wakes it again. */
void note_watched(Ticket &ticket, Watched needed)
{
    Watched before = std::exchange(*ticket.watched, std::move(needed));
    if (watches_too_much(ticket))
        ticket.watched = std::move(before);
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

std::vector<const Ticket *> waiters_to_wake(LeaseState &state, std::int64_t now)
{
    std::vector<Ticket *> asleep;
    for (Ticket &ticket : state.tickets) {
        if (ticket.watched)
            asleep.push_back(&ticket);
    }
    const std::vector<Decision> decisions = decide_for(state, {asleep.begin(), asleep.end()}, now);
    std::vector<const Ticket *> found;
    for (size_t i = 0; i < decisions.size(); ++i) {
        const Decision &decision = decisions[i];
        const bool waits_on = !decision.granted && !decision.is_hopeless;
        Watched needed = watched_of(state, decision.obstacles);
        if (waits_on && is_enough(*asleep[i]->watched, needed))
            continue;
        found.push_back(asleep[i]);
        if (waits_on)
            note_watched(*asleep[i], std::move(needed));
    }
    return found;
}

} // namespace ogh
