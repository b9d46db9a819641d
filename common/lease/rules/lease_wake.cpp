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

/** Those who are there. */
class Those final {
public:
    explicit Those(const LeaseState &state) : state_(state)
    {
        for (const Allocation &allocation : state.allocations)
            inits_.push_back(allocation.holder.init);
        std::sort(inits_.begin(), inits_.end());
    }

    [[nodiscard]] bool include(const Watched &watched) const
    {
        const auto has_ticket = [&](std::uint64_t number) {
            const auto found = std::lower_bound(
                state_.tickets.begin(), state_.tickets.end(), number,
                [](const Ticket &ticket, std::uint64_t wanted) { return ticket.number < wanted; });
            return found != state_.tickets.end() && found->number == number;
        };
        return std::all_of(watched.holders.begin(), watched.holders.end(),
                           [&](const ProcessId &init) { return has(init); }) &&
               std::all_of(watched.tickets.begin(), watched.tickets.end(), has_ticket);
    }

    /**
     * Whether all that wait have to be decided, since some may be served, or be without hope, though all that they watch is
     * there: by a quota that others use up, by a drain, or by what their container has.
     */
    [[nodiscard]] bool depend_on_more() const
    {
        return !state_.drains.empty() ||
               std::any_of(state_.tickets.begin(), state_.tickets.end(), [&](const Ticket &ticket) {
                   return !ticket.demand.quotas.empty() || has(ticket.holder.init);
               });
    }

private:
    [[nodiscard]] bool has(const ProcessId &init) const
    {
        return std::binary_search(inits_.begin(), inits_.end(), init);
    }

    const LeaseState &state_;
    std::vector<ProcessId> inits_;
};

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

std::vector<const Ticket *> waiters_to_wake(LeaseState &state, StateChange change, std::int64_t now)
{
    const Those those(state);
    const bool all = change != StateChange::None || those.depend_on_more();
    std::vector<Ticket *> touched;
    for (Ticket &ticket : state.tickets) {
        if (ticket.watched && (all || !those.include(*ticket.watched)))
            touched.push_back(&ticket);
    }
    const std::vector<Decision> decisions = decide_for(state, {touched.begin(), touched.end()}, now);
    std::vector<const Ticket *> found;
    for (size_t i = 0; i < decisions.size(); ++i) {
        const Decision &decision = decisions[i];
        const bool waits_on = !decision.granted && !decision.is_hopeless;
        Watched needed = watched_of(state, decision.obstacles);
        if (waits_on && is_enough(*touched[i]->watched, needed))
            continue;
        found.push_back(touched[i]);
        if (waits_on)
            note_watched(*touched[i], std::move(needed));
    }
    return found;
}

} // namespace ogh
