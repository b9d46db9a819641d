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
     * Whether somebody may be served, or be without hope, though all that it watches is there: by a quota that others use
     * up, a drain, or what its container has.
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

std::vector<const Ticket *> waiters_to_wake(const LeaseState &state, StateChange change, std::int64_t now)
{
    const Those those(state);
    const bool all = change != StateChange::None || those.depend_on_more();
    std::vector<const Ticket *> touched;
    for (const Ticket &ticket : state.tickets) {
        if (ticket.watched && (all || !those.include(*ticket.watched)))
            touched.push_back(&ticket);
    }
    const std::vector<Decision> decisions = decide_for(state, touched, now);
    std::vector<const Ticket *> found;
    for (size_t i = 0; i < decisions.size(); ++i) {
        const Decision &decision = decisions[i];
        if (decision.granted || decision.is_hopeless ||
            !is_enough(*touched[i]->watched, watched_of(state, decision.obstacles)))
            found.push_back(touched[i]);
    }
    return found;
}

void wake_waiters(const Processes &processes, const LeaseState &state, StateChange change)
{
    for (const Ticket *ticket : waiters_to_wake(state, change, boottime_ns())) {
        if (const auto hook = processes.find(ticket->hook))
            wake(hook->get());
    }
}

} // namespace ogh
