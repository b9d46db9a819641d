// SPDX-License-Identifier: Apache-2.0
#include "lease/presence.h"

#include <algorithm>

#include "base/error.h"
#include "lease/container_cgroup.h"

namespace ogh {

namespace {

Error ended()
{
    return {ExitCode::Failure, "the container's init process has ended"};
}

Present drop(const Processes &processes, LeaseState &state, const std::set<ProcessId> &holders,
             const std::set<std::uint64_t> &tickets)
{
    Present present;
    std::erase_if(state.holdings, [&](const Holding &holding) {
        if (holders.count(holding.holder.init) == 0)
            return false;
        auto found = find_container(processes, holding.holder);
        if (found)
            present.holders[holding.holder.init] = std::move(*found);
        return !found;
    });
    std::erase_if(state.tickets, [&](const Ticket &ticket) {
        if (tickets.count(ticket.number) == 0)
            return false;
        auto found = processes.find(ticket.hook);
        if (found)
            present.tickets[ticket.number] = std::move(*found);
        return !found;
    });
    return present;
}

} // namespace

std::pair<Holder, UniqueFd> find_holder(const Processes &processes, pid_t init, const std::string &id,
                                        const std::string &program, const std::string &cgroups_path)
{
    auto held = processes.hold(init);
    const auto status = held ? processes.read(init, "status") : std::nullopt;
    const auto cgroups = held ? processes.read(init, "cgroup") : std::nullopt;
    if (!status || !cgroups)
        throw ended();
    Holder holder{held->id, is_first_of_a_pid_namespace(*status)};
    holder.cgroup = find_own_cgroup(processes, *cgroups, cgroups_path, !holder.own_pid_namespace);
    holder.container = id;
    holder.program = program;
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

std::optional<UniqueFd> find_another(const Processes &processes, const OwnCgroup &cgroup, pid_t except)
{
    auto pids = processes_in(processes, cgroup);
    std::erase(pids, except);
    if (pids.empty())
        return std::nullopt;
    auto held = processes.hold(pids.front());
    // Between the list and the descriptor the number may have become another process's.
    pids = processes_in(processes, cgroup);
    std::erase(pids, except);
    if (pids.empty())
        return std::nullopt;
    if (!held || std::find(pids.begin(), pids.end(), held->id.pid) == pids.end())
        return UniqueFd();
    return std::move(held->pidfd);
}

Present drop_gone(const Processes &processes, LeaseState &state, const Demand &demand)
{
    return drop(processes, state, holders_near(state, demand), tickets_near(state, demand));
}

Present drop_gone(const Processes &processes, LeaseState &state)
{
    std::set<ProcessId> holders;
    std::set<std::uint64_t> tickets;
    for (const Holding &holding : state.holdings)
        holders.insert(holding.holder.init);
    for (const Ticket &ticket : state.tickets)
        tickets.insert(ticket.number);
    return drop(processes, state, holders, tickets);
}

} // namespace ogh
