// SPDX-License-Identifier: Apache-2.0
#include "lease/leases.h"

#include <algorithm>
#include <functional>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "lease/presence/container_cgroup.h"
#include "lease/presence/eviction.h"
#include "lease/presence/presence.h"
#include "lease/rules/claim.h"
#include "lease/state/boot_clock.h"
#include "lease/state/lease_changes.h"
#include "lease/waiting/lease_directory.h"
#include "lease/waiting/lease_store.h"
#include "lease/waiting/wait.h"

namespace ogh {

namespace {

/** Of a holder that lives: what another container could take from it, and from when. */
void add_preemptible(const Processes &processes, Allocation allocation, const PreemptionPolicy &policy,
                     LeaseEntry &entry)
{
    const std::int64_t now = boottime_ns();
    const auto time_of = [&](std::int64_t ns) { // the same at each look
        return allocation.since + (ns - allocation.taken_ns) / 1'000'000'000;
    };
    const Signs signs = look_at(processes, allocation, policy, now);
    entry.never_started = !signs.has_started;
    entry.idle_since = allocation.idle_ns != 0 ? time_of(allocation.idle_ns) : 0;
    if (const auto preemptible = preemptible_of(allocation, policy, signs, now)) {
        entry.why = preemptible->why;
        entry.from = time_of(preemptible->from_ns);
    }
}

/** Which place it has among the tickets that wait for what it asks for. */
size_t place_of(const LeaseState &state, const Ticket &ticket)
{
    const auto near = tickets_near(state, ticket.demand);
    return static_cast<size_t>(std::distance(near.begin(), near.upper_bound(ticket.number)));
}

/** @return what `how` does */
bool change(const LeaseStore &store, const std::function<bool(LeaseState &)> &how)
{
    LeaseStore::Session session = store.open();
    const bool has_changed = how(session.state());
    session.save();
    return has_changed;
}

LeaseList list_of(const LeaseStore &store, const LeaseState &state, const Present &present,
                  const PreemptionPolicy &policy)
{
    const Processes &processes = store.processes();
    LeaseList list{{}, state.drains, store.directory().scope(), state};
    LeasePeople people = read_people(store.directory());
    const auto add = [&](const Holder &holder, std::int64_t since) -> LeaseEntry & {
        LeaseEntry &entry = list.entries.emplace_back();
        entry.container = holder.container;
        entry.pid = holder.init.pid;
        entry.since = since;
        entry.label = people[holder.init];
        return entry;
    };
    const auto add_holder = [&](const Allocation &allocation) -> LeaseEntry & {
        LeaseEntry &entry = add(allocation.holder, allocation.since);
        entry.devices = allocation.devices;
        entry.lives = present.holders.contains(allocation.holder.init);
        entry.is_paused = entry.lives && is_frozen(processes, entry.pid);
        return entry;
    };
    for (const Allocation &allocation : state.allocations) {
        LeaseEntry &entry = add_holder(allocation);
        if (entry.lives)
            add_preemptible(processes, allocation, policy, entry);
    }
    for (const Allocation &observer : state.observers)
        add_holder(observer).observes = true;
    for (const Allocation &each : state.deprived) {
        LeaseEntry &entry = add(each.holder, each.since);
        entry.devices = each.devices;
        entry.lives = processes.find(each.holder.init).has_value();
        entry.is_deprived = true;
        if (each.has_begun)
            entry.idle_since = each.since + (each.idle_ns - each.taken_ns) / 1'000'000'000;
    }
    for (const Ticket &ticket : state.tickets) {
        LeaseEntry &entry = add(ticket.holder, ticket.since);
        entry.waits_for = ticket.demand;
        entry.lives = present.tickets.contains(ticket.number);
        entry.deadline = ticket.until != 0 ? ticket.until : unix_time_at(ticket.deadline_ns);
        entry.place = place_of(state, ticket);
    }
    return list;
}

} // namespace

Leases::Leases(LeaseDirectory directory, std::shared_ptr<History> history)
    : store_(std::make_shared<LeaseStore>(std::move(directory), std::move(history)))
{
}

Leases::Leases(const Sysroot &sysroot, std::shared_ptr<History> history)
    : Leases(LeaseDirectory(sysroot), std::move(history))
{
}

std::optional<Leases> Leases::open(const Sysroot &sysroot, std::shared_ptr<History> history)
{
    auto directory = LeaseDirectory::open(sysroot);
    return directory ? std::optional(Leases(std::move(*directory), std::move(history))) : std::nullopt;
}

void Leases::require(const Sysroot &sysroot, const std::string &what)
{
    if (!LeaseDirectory::is_possible(sysroot))
        throw Error(ErrorKind::BrokenHost,
                    "only root may " + what + ", of the host or of its user namespace");
}

void Leases::observe(const LeaseRequest &request)
{
    const Processes &processes = store_->processes();
    const auto [holder, pidfd] =
        find_holder(processes, request.init, request.container, request.idle_init, request.cgroups_path);
    LeaseStore::Session session = store_->open();
    drop_gone(processes, session.state());
    ogh::observe(session.state(), holder, request.demand.fixed, boottime_ns(), unix_time());
    session.save();
    try_to_note_people(store_->directory(), session.state(), holder.init, request.label);
    if (store_->history() != nullptr)
        add_grant(*store_->history(), holder, request.label, observers_lease, request.demand.fixed, 0);
}

bool Leases::drain(const Drain &drain)
{
    return change(*store_, [&](LeaseState &state) { return ogh::drain(state, drain); });
}

bool Leases::undrain(const LeaseKey &key, const std::optional<std::string> &by)
{
    return change(*store_, [&](LeaseState &state) { return ogh::undrain(state, key, by); });
}

std::vector<std::string> Leases::cancel(const std::optional<std::string> &container)
{
    LeaseStore::Session session = store_->open();
    drop_gone(store_->processes(), session.state());
    session.save();
    std::set<std::string> found;
    for (const Ticket &ticket : session.state().tickets) {
        if (!container || (!container->empty() && ticket.holder.container.starts_with(*container)))
            found.insert(ticket.holder.container);
    }
    if (container && found.empty())
        throw Error(ErrorKind::NotAvailable, "no container waits whose id begins with " + quote(*container));
    if (container && found.size() > 1)
        throw Error(ErrorKind::Usage, "more than one container waits whose id begins with " +
                                          quote(*container) + ": " +
                                          quote_list({found.begin(), found.end()}));
    for (const Ticket &ticket : session.state().tickets) {
        const auto hook =
            found.contains(ticket.holder.container) ? store_->processes().find(ticket.hook) : std::nullopt;
        if (hook)
            end_waiting(hook->get());
    }
    return {found.begin(), found.end()};
}

LeaseList Leases::look(const Sysroot &sysroot, const PreemptionPolicy &policy)
{
    auto directory = LeaseDirectory::find(sysroot);
    if (!directory)
        return {};
    const LeaseStore store(std::move(*directory));
    LeaseState state = store.read();
    expire(state, boottime_ns());
    LeaseState living = state;
    const Present present = drop_gone(store.processes(), living);
    LeaseList list = list_of(store, state, present, policy);
    list.state = std::move(living);
    list.lock_keeper = store.directory().lock_keeper(store.processes());
    return list;
}

LeaseCounts Leases::counts(const Sysroot &sysroot)
{
    auto directory = LeaseDirectory::find(sysroot);
    if (!directory)
        return {};
    const LeaseState state = LeaseStore(std::move(*directory)).read();
    LeaseCounts counts = state.counts;
    const std::int64_t now = boottime_ns();
    for (const Allocation &allocation : state.allocations)
        counts.add_time(devices_by_vendor(allocation), now - allocation.taken_ns);
    return counts;
}

Lease take_if_possible(Leases *leases, const LeaseRequest &request, Notes &notes)
{
    if (leases != nullptr)
        return leases->take(request);
    const Demand &demand = request.demand;
    const std::string needs_one = !demand.quotas.empty()
                                      ? "the quota " + quote(demand.quotas.front().name) + " counts leases"
                                  : demand.max_sharers  ? "--max-sharers counts leases"
                                  : request.only_empty  ? "--only-empty compares with leases"
                                  : request.is_explicit ? "a lease is asked for"
                                                        : "";
    if (!needs_one.empty())
        throw Error(ErrorKind::NotAvailable, needs_one + ", and there can be none: " + why_no_lease_place());
    notes.push_back({LogLevel::Info, "no lease is taken: " + why_no_lease_place()});
    std::vector<LeaseKey> devices = demand.fixed;
    for (const LeaseKey &key : demand.candidates) {
        if (devices.size() < demand.fixed.size() + demand.any && !overlaps_one_of(devices, key))
            devices.push_back(key);
    }
    if (devices.size() < demand.fixed.size() + demand.any)
        throw Error(ErrorKind::Busy, "not as many devices as are asked for can be given");
    return Lease(std::move(devices));
}

} // namespace ogh
