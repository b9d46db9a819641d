// SPDX-License-Identifier: Apache-2.0
#include "lease/presence/presence.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "lease/presence/container_cgroup.h"
#include "lease/rules/claim.h"
#include "lease/rules/lease_wake.h"
#include "lease/state/lease_file.h"

namespace ogh {

namespace {

/** Some process of the cgroup besides `except`. @return nothing if there is none; not valid if it cannot be held */
std::optional<UniqueFd> find_another(const Processes &processes, const OwnCgroup &cgroup, pid_t except)
{
    auto pids = processes_in(processes, cgroup);
    std::erase(pids, except);
    if (pids.empty())
        return std::nullopt;
    auto held = processes.open_pidfd(pids.front());
    // Between the list and the descriptor the number may have become another process's.
    pids = processes_in(processes, cgroup);
    std::erase(pids, except);
    if (pids.empty())
        return std::nullopt;
    if (!held || std::find(pids.begin(), pids.end(), held->id.pid) == pids.end())
        return UniqueFd();
    return std::move(held->pidfd);
}

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

/** @param known those who are there, to whom it is added if it is */
template<typename Key, typename Find>
bool is_gone(std::map<Key, UniqueFd> &known, const Key &key, const Find &find)
{
    if (known.contains(key))
        return false;
    auto found = find();
    if (found)
        known[key] = std::move(*found);
    return !found;
}

Error ended()
{
    return {ErrorKind::Failure, "the container's init process has ended"};
}

/** Whether it has ended for certain. Without its init it may be there still, by its cgroup. */
bool is_missing(const Processes &processes, const Holder &holder)
{
    return !Processes::is_taken(holder.init.pid) && !find_container(processes, holder);
}

/** One that has ended stands in the list of its cgroup for a moment longer. */
constexpr std::int64_t leaving_ns = 100'000'000;

bool only_waits(const Holder &holder, const PreemptionPolicy &policy)
{
    return policy.is_allowed && holder.own_pid_namespace && holder.cgroup && holder.idle_init;
}

/** @param everywhere in its pid namespace too, which takes longer: only where the answer matters now */
std::optional<UniqueFd> company_of(const Processes &processes, const Holder &holder, bool everywhere)
try {
    return everywhere ? find_company(processes, holder)
                      : find_another(processes, *holder.cgroup, holder.init.pid);
} catch (const Error &) {
    return UniqueFd(); // its cgroup is gone, or may not be read
}

} // namespace

std::pair<Holder, UniqueFd> find_holder(const Processes &processes, pid_t init, const std::string &id,
                                        bool idle_init, const std::string &cgroups_path)
{
    auto held = processes.open_pidfd(init);
    const auto cgroups = held ? processes.read(init, "cgroup") : std::nullopt;
    if (!cgroups)
        throw ended();
    const std::string pidfd = processes.read_own("fdinfo/" + std::to_string(held->pidfd.get()));
    Holder holder{held->id, is_first_of_a_pid_namespace(pidfd)};
    holder.cgroup = find_own_cgroup(processes, *cgroups, cgroups_path, !holder.own_pid_namespace);
    // Long texts of containers must not fill the file, which would refuse everybody. No runtime has such an id: it is the
    // name of a directory.
    holder.container = beginning_of(id, max_container_word);
    holder.idle_init = idle_init;
    if (holder.cgroup && stored_size(holder.cgroup->path) > max_path_word)
        throw Error(ErrorKind::BrokenHost,
                    "the path of the container's cgroup is too long to be written down for a lease");
    // Alive now means that all of that was its own.
    if (has_ended(held->pidfd.get()))
        throw ended();
    return {std::move(holder), std::move(held->pidfd)};
}

std::optional<UniqueFd> find_container(const Processes &processes, const Holder &holder)
{
    auto init = processes.find(holder.init);
    if (init || holder.own_pid_namespace || !holder.cgroup)
        return init;
    return find_another(processes, *holder.cgroup, 0);
}

std::optional<UniqueFd> find_company(const Processes &processes, const Holder &holder)
{
    const pid_t init = holder.init.pid;
    if (auto found = find_another(processes, holder.cgroup.value(), init))
        return found;
    const auto space = processes.pid_namespace_of(std::to_string(init));
    if (!space)
        return std::nullopt;
    PidNamespace own(processes, *space);
    for (const pid_t pid : processes.all()) {
        if (pid == init || !own.has(pid))
            continue;
        auto held = processes.open_pidfd(pid); // not one that has only not been waited for
        if (held && own.has(pid))
            return std::move(held->pidfd);
    }
    return std::nullopt;
}

void drop_missing_holders(const Processes &processes, LeaseState &state, const Demand &demand)
{
    const auto holders = holders_near(state, demand);
    std::erase_if(state.allocations, [&](const Allocation &allocation) {
        return holders.contains(allocation.holder.init) && is_missing(processes, allocation.holder);
    });
}

void drop_missing_tickets(LeaseState &state, const Demand &demand)
{
    const auto tickets = tickets_near(state, demand);
    std::erase_if(state.tickets, [&](const Ticket &ticket) {
        return tickets.contains(ticket.number) && !Processes::is_taken(ticket.hook.pid);
    });
}

bool drop_gone(const Processes &processes, LeaseState &state, const Obstacles &obstacles, Present &present)
{
    const size_t holders = std::erase_if(state.allocations, [&](const Allocation &each) {
        const ProcessId &init = each.holder.init;
        return obstacles.holders.contains(init) &&
               is_gone(present.holders, init, [&] { return find_container(processes, each.holder); });
    });
    const size_t tickets = std::erase_if(state.tickets, [&](const Ticket &each) {
        return obstacles.tickets.contains(each.number) &&
               is_gone(present.tickets, each.number, [&] { return processes.find(each.hook); });
    });
    return holders + tickets > 0;
}

Present drop_gone(const Processes &processes, LeaseState &state)
{
    Obstacles all;
    all.holders = inits_of(state.allocations);
    for (const Ticket &ticket : state.tickets)
        all.tickets.insert(ticket.number);
    Present present;
    drop_gone(processes, state, all, present);
    std::erase_if(state.observers, [&](const Allocation &each) {
        return is_gone(present.holders, each.holder.init,
                       [&] { return find_container(processes, each.holder); });
    });
    std::erase_if(state.deprived, [&](const Allocation &each) { return !processes.find(each.holder.init); });
    return present;
}

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

Signs look_at(const Processes &processes, Allocation &allocation, const PreemptionPolicy &policy,
              std::int64_t now)
{
    const Holder &holder = allocation.holder;
    Signs signs;
    signs.has_started = !has_executed_nothing(processes.read(holder.init.pid, "stat").value_or(""));
    signs.only_waits = only_waits(holder, policy);
    if (!signs.has_started || !signs.only_waits)
        return signs;
    signs.company = company_of(processes, holder, false);
    if (!signs.company)
        signs.others_cpu_ns = cpu_of_others(processes, holder);
    note_look(allocation, signs, now);
    return signs;
}

Preemptibles look_for_preemptible(const Processes &processes, LeaseState &state,
                                  const std::set<ProcessId> &holders, const PreemptionPolicy &policy,
                                  SleepEnd &end, std::int64_t now)
{
    Preemptibles found;
    for (Allocation &allocation : state.allocations) {
        if (!holders.contains(allocation.holder.init) || allocation.taker)
            continue;
        Signs signs = look_at(processes, allocation, policy, now);
        auto preemptible = preemptible_of(allocation, policy, signs, now);
        if (preemptible && preemptible->from_ns <= now && signs.has_started && signs.only_waits &&
            !signs.company) {
            signs.company = company_of(processes, allocation.holder, true);
            note_look(allocation, signs, now);
            preemptible = preemptible_of(allocation, policy, signs, now);
        }
        if (preemptible)
            found.emplace(allocation.holder.init, *preemptible);
        if (signs.company && signs.company->valid())
            end.watched.push_back(std::move(*signs.company));
        else if (signs.company)
            end.at_ns = std::min(end.at_ns, now + leaving_ns);
    }
    return found;
}

} // namespace ogh
