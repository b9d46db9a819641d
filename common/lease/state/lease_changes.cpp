// SPDX-License-Identifier: Apache-2.0
#include "lease/state/lease_changes.h"

#include <algorithm>
#include <string_view>

#include "base/contains.h"
#include "lease/state/lease_file.h"

namespace ogh {

namespace {

/** FNV-1a: the file is to be short, and nothing comes of two containers that have the same. */
std::uint64_t hash_of(std::string_view container)
{
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char letter : container)
        hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
    return hash;
}

void note_early_exit(std::vector<std::uint64_t> &ends, std::uint64_t container)
{
    std::erase(ends, container);
    ends.push_back(container);
    if (ends.size() > enough_early_exits)
        ends.erase(ends.begin());
}

/** The container's entry, a new one at the end if it has none. @param entries of the state */
Allocation &entry_of(const LeaseState &state, std::vector<Allocation> &entries, const Holder &holder,
                     std::int64_t now, std::int64_t since)
{
    if (Allocation *const found = find_allocation(entries, holder.init))
        return *found;
    require_room(state);
    return entries.emplace_back(Allocation{holder, {}, now, since});
}

LeasedDevice *find_device(Allocation &allocation, const LeaseKey &key)
{
    const auto found = std::find_if(allocation.devices.begin(), allocation.devices.end(),
                                    [&](const LeasedDevice &device) { return device.key == key; });
    return found == allocation.devices.end() ? nullptr : &*found;
}

/** Has what is held be at least as much as is asked for, and count where that does. @return whether it was not before */
bool widen(LeasedDevice &held, const Demand &demand)
{
    const LeasedDevice before = held;
    if (demand.mode == LeaseMode::Exclusive)
        held.mode = LeaseMode::Exclusive;
    if (demand.max_sharers && held.mode == LeaseMode::Shared)
        held.max_sharers = std::min(*demand.max_sharers, held.max_sharers.value_or(*demand.max_sharers));
    for (const Quota &quota : demand.quotas) {
        const auto place =
            std::lower_bound(held.quotas.begin(), held.quotas.end(), quota.name,
                             [](const Quota &a, const std::string &name) { return a.name < name; });
        if (place == held.quotas.end() || place->name != quota.name)
            held.quotas.insert(place, quota);
    }
    return !(held == before);
}

/** Keys of what has no place, as CDI's, are new ones each time. */
void forget_oldest(LeaseState &state)
{
    if (state.last_used.size() <= max_used_devices)
        return;
    std::vector<std::uint64_t> uses;
    uses.reserve(state.last_used.size());
    for (const auto &[key, use] : state.last_used)
        uses.push_back(use);
    const auto first_kept = uses.end() - static_cast<std::ptrdiff_t>(max_used_devices);
    std::nth_element(uses.begin(), first_kept, uses.end());
    std::erase_if(state.last_used, [&](const auto &used) { return used.second < *first_kept; });
    std::erase_if(state.early_exits, [&](const auto &ends) { return !state.last_used.contains(ends.first); });
}

} // namespace

bool exits_early(const LeaseState &state, const LeaseKey &key)
{
    const auto found = state.early_exits.find(key);
    return found != state.early_exits.end() && found->second.size() >= enough_early_exits;
}

void note_early_exits(const LeaseState &before, const std::map<ProcessId, std::string> &known,
                      std::int64_t now, LeaseState &state, std::set<ProcessId> &noted)
{
    const std::set<ProcessId> left = inits_of(state.allocations);
    for (const Allocation &allocation : before.allocations) {
        const ProcessId &init = allocation.holder.init;
        const bool is_quick = now - allocation.taken_ns <= early_exit_ns;
        if (left.contains(init) || !noted.insert(init).second || (is_quick && known.contains(init)))
            continue;
        for (const LeasedDevice &device : allocation.devices) {
            if (!is_quick)
                state.early_exits.erase(device.key);
            else if (state.last_used.contains(device.key))
                note_early_exit(state.early_exits[device.key], hash_of(allocation.holder.container));
        }
    }
}

Grant enter(LeaseState &state, const Holder &holder, const Ticket &request,
            const std::vector<LeaseKey> &granted, std::int64_t now)
{
    remove_ticket(state, request.number);
    Grant grant{holder.init, {}, {}};
    if (granted.empty())
        return grant;
    Allocation &entry = entry_of(state, state.allocations, holder, now, request.since);
    for (const LeaseKey &key : granted) {
        LeasedDevice *held = find_device(entry, key);
        if (held == nullptr) {
            const Demand &demand = request.demand;
            entry.devices.push_back({key, demand.mode, demand.quotas, demand.max_sharers});
            grant.added.push_back(key);
        } else if (LeasedDevice before = *held; widen(*held, request.demand)) {
            grant.changed.push_back(std::move(before));
        } else {
            continue;
        }
        state.last_used[key] = ++state.uses;
    }
    check_entry(entry);
    forget_oldest(state);
    return grant;
}

void observe(LeaseState &state, const Holder &holder, const std::vector<LeaseKey> &keys, std::int64_t now,
             std::int64_t since)
{
    Allocation &entry = entry_of(state, state.observers, holder, now, since);
    for (const LeaseKey &key : keys) {
        if (find_device(entry, key) == nullptr)
            entry.devices.push_back({key});
    }
    check_entry(entry);
}

void take_back(LeaseState &state, const Grant &grant)
{
    Allocation *const own = find_allocation(state.allocations, grant.init);
    if (own == nullptr)
        return;
    std::erase_if(own->devices,
                  [&](const LeasedDevice &device) { return contains(grant.added, device.key); });
    if (grant.requests_before)
        own->requests = *grant.requests_before;
    for (const LeasedDevice &before : grant.changed) {
        if (LeasedDevice *held = find_device(*own, before.key))
            *held = before;
    }
    if (own->devices.empty())
        remove_holder(state, grant.init);
}

std::uint64_t queue(LeaseState &state, Ticket ticket)
{
    require_room(state);
    check_entry(ticket);
    ticket.number = ++state.numbers;
    state.tickets.push_back(std::move(ticket));
    return state.numbers;
}

void queue_again(LeaseState &state, Ticket ticket)
{
    const auto place =
        std::lower_bound(state.tickets.begin(), state.tickets.end(), ticket.number,
                         [](const Ticket &one, std::uint64_t number) { return one.number < number; });
    state.tickets.insert(place, std::move(ticket));
}

void remove_ticket(LeaseState &state, std::uint64_t number)
{
    std::erase_if(state.tickets, [&](const Ticket &ticket) { return ticket.number == number; });
}

void remove_holder(LeaseState &state, const ProcessId &init)
{
    std::erase_if(state.allocations,
                  [&](const Allocation &allocation) { return allocation.holder.init == init; });
}

void expire(LeaseState &state, std::int64_t now)
{
    std::erase_if(state.tickets, [&](const Ticket &ticket) { return ticket.deadline_ns <= now; });
    std::erase_if(state.drains,
                  [&](const Drain &drain) { return drain.until_ns != 0 && drain.until_ns <= now; });
}

bool drain(LeaseState &state, const Drain &drain)
{
    const auto is_it = [&](const Drain &one) { return one.key == drain.key && one.by == drain.by; };
    const auto found = std::find_if(state.drains.begin(), state.drains.end(), is_it);
    if (found == state.drains.end()) {
        state.drains.push_back(drain);
        return true;
    }
    found->until_ns = drain.until_ns;
    found->reason = drain.reason;
    return false;
}

bool undrain(LeaseState &state, const LeaseKey &key, const std::optional<std::string> &by)
{
    return std::erase_if(state.drains,
                         [&](const Drain &one) { return one.key == key && (!by || one.by == *by); }) > 0;
}

} // namespace ogh
