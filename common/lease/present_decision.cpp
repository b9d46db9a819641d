// SPDX-License-Identifier: Apache-2.0
#include "lease/present_decision.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "lease/lease_bounds.h"
#include "lease/lease_neighbours.h"
#include "lease/lease_wake.h"

namespace ogh {

namespace {

/**
 * Those by whom the decision stands or falls: of one that grants also those who decide whether somebody who came earlier
 * waits for a quota. They are on other devices too.
 */
Obstacles all_that_count(const LeaseState &state, const Decision &decision)
{
    Obstacles all = decision.obstacles;
    all.add(with_quotas(state, decision.depends_on));
    return all;
}

template<typename Key>
void move_valid(std::map<Key, UniqueFd> &from, const std::set<Key> &keys, std::vector<UniqueFd> &to)
{
    for (auto &[key, fd] : from) {
        if (keys.contains(key) && fd.valid())
            to.push_back(std::move(fd));
    }
}

} // namespace

Decision decide_by_present(const Processes &processes, LeaseState &state, const Claim &claim,
                           std::int64_t now, Present &present, const std::function<void()> &note_ends)
{
    for (;;) {
        Decision decision = decide(state, claim, now, Depth::Enough);
        if (!drop_gone(processes, state,
                       decision.granted ? all_that_count(state, decision) : decision.obstacles, present))
            return decision;
        note_ends();
    }
}

void watch(const Processes &processes, LeaseState &state, std::uint64_t ticket, const Demand &demand,
           Present present, std::int64_t now, SleepEnd &end)
{
    Ticket &request = *std::find_if(state.tickets.begin(), state.tickets.end(),
                                    [&](const Ticket &one) { return one.number == ticket; });
    const Claim claim{request.holder.init, demand, request.number};
    Obstacles watched = decide(state, claim, now, Depth::Enough).obstacles;
    request.watched = watched_of(state, watched);
    if (request.watched->drain_ns != 0)
        end.at_ns = std::min(end.at_ns, request.watched->drain_ns);
    if (watches_too_much(request)) {
        request.watched.reset();
        watched = all_that_count(state, decide(state, claim, now));
    }
    if (drop_gone(processes, state, watched, present))
        end.at_ns = now;
    end.at_ns = next_deadline(state, watched.tickets, end.at_ns);
    move_valid(present.holders, watched.holders, end.watched);
    move_valid(present.tickets, watched.tickets, end.watched);
}

} // namespace ogh
