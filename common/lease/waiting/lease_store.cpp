// SPDX-License-Identifier: Apache-2.0
#include "lease/waiting/lease_store.h"

#include <algorithm>
#include <exception>
#include <set>

#include "base/duration.h"
#include "base/error.h"
#include "lease/state/boot_clock.h"
#include "lease/waiting/wait.h"

namespace ogh {

namespace {

std::set<ProcessId> inits_of(const LeaseState &state)
{
    std::set<ProcessId> inits;
    for (const auto *const entries : {&state.allocations, &state.observers, &state.deprived})
        inits.merge(inits_of(*entries));
    for (const Ticket &ticket : state.tickets)
        inits.insert(ticket.holder.init);
    return inits;
}

/** The start of process 1 is another one as well where the clock since boot is. */
std::string other_space(const ProcessSpace &written, const ProcessSpace &own)
{
    const std::string other = "another pid namespace";
    return written.pid_namespace == own.pid_namespace
               ? "another time namespace, or " + other + " that had the same number"
               : other;
}

/** Of one of the lists of both states. @param lease what is said of it; "": nothing */
void add_ends_of(History &history, const std::vector<Allocation> &before,
                 const std::vector<Allocation> &after, std::string_view lease, const KnownEnds &how,
                 std::int64_t now)
{
    const std::set<ProcessId> left = inits_of(after);
    for (const Allocation &allocation : before) {
        if (left.contains(allocation.holder.init))
            continue;
        const auto known = how.find(allocation.holder.init);
        HistoryLine line = history.begin("ended");
        line.add("container", allocation.holder.container);
        line.add("gpus", keys_of(allocation.devices));
        if (!lease.empty())
            line.add("lease", lease);
        line.add("since", utc_text(allocation.since));
        line.add_time("seconds", now - allocation.taken_ns);
        line.add("how", known == how.end() ? "ended" : known->second);
        history.add(std::move(line));
    }
}

/**
 * Each container that had something before, and has nothing now. Whoever sees it writes it down, so its end is when it was
 * next seen to be gone.
 * @param now CLOCK_BOOTTIME, ns
 */
void add_ends(History &history, const LeaseState &before, const LeaseState &after, const KnownEnds &how,
              std::int64_t now)
{
    add_ends_of(history, before.allocations, after.allocations, "", how, now);
    add_ends_of(history, before.observers, after.observers, observers_lease, how, now);
}

/** Those that are still there. @throws Error (BrokenHost) */
void wake_waiters(const Processes &processes, LeaseState &state)
{
    for (const Ticket *ticket : waiters_to_wake(state, boottime_ns())) {
        if (const auto hook = processes.find(ticket->hook))
            wake(hook->get());
    }
}

} // namespace

void Lease::note_rules(const DeviceRules &rules)
try {
    if (store_ == nullptr)
        return;
    LeaseStore::Session session = store_->open(LeaseStore::patience_at_the_end);
    Allocation *const own = find_allocation(session.state().allocations, grant_.init);
    if (own == nullptr || (grant_.added.empty() && own->rules))
        return;
    // Those of an earlier request are known no more: enter_grant() has seen to it.
    own->rules = own->rules || hides_files_ ? DeviceRules() : rules;
    if (stored_size(*own) > max_lease_entry)
        own->rules = DeviceRules();
    session.save();
} catch (const Error &) {
    return; // so it can be ended, and not taken from
}

void Lease::release() noexcept
{
    const std::shared_ptr<const LeaseStore> store = std::exchange(store_, nullptr);
    if (store == nullptr || (grant_.added.empty() && grant_.changed.empty() && !grant_.requests_before))
        return;
    try {
        LeaseStore::Session session = store->open(LeaseStore::patience_at_the_end);
        take_back(session.state(), grant_);
        session.explain_end(grant_.init, "not started");
        session.save();
    } catch (const std::exception &) {
        return; // there is nothing to be done about it, and no time to wait
    }
}

void Lease::exchange_for(Ticket request)
{
    LeaseStore::Session session = store_->open();
    take_back(session.state(), grant_);
    session.explain_end(grant_.init, "not started");
    queue_again(session.state(), std::move(request));
    session.save();
    store_.reset();
}

void try_to_note_people(const LeaseDirectory &directory, const LeaseState &state, const ProcessId &init,
                        const ContainerLabel &label)
{
    if (label == ContainerLabel())
        return;
    try {
        LeasePeople people = read_people(directory);
        std::erase_if(people,
                      [there = inits_of(state)](const auto &each) { return !there.contains(each.first); });
        people[init] = within_bounds(label);
        directory.write(people_document, to_text(people));
    } catch (const Error &) { // NOLINT(bugprone-empty-catch): the list goes without
    }
}

void add_grant(History &history, const Holder &holder, const ContainerLabel &label, std::string_view lease,
               const std::vector<LeaseKey> &devices, std::int64_t waited_ns)
{
    HistoryLine line = history.begin("granted");
    line.add("container", holder.container);
    add_label(line, label);
    line.add("gpus", devices);
    line.add("lease", lease);
    line.add_time("waited", waited_ns);
    history.add(std::move(line));
}

void add_late(History &history, const std::vector<std::string> &containers)
{
    for (const std::string &container : containers) {
        HistoryLine line = history.begin("late");
        line.add("container", container);
        line.add("how", "began too late: its devices had been taken away");
        history.add(std::move(line));
    }
}

LeasePeople read_people(const LeaseDirectory &directory)
{
    try {
        const std::string text = directory.read(people_document, max_people_file);
        return text.empty() ? LeasePeople() : parse_people(text);
    } catch (const Error &) {
        return {};
    }
}

LeaseState state_for(const ProcessSpace &space, std::string_view text, const std::string &how_to_clear)
{
    if (text.empty())
        return {};
    const std::string help =
        "; '" + how_to_clear + "' clears the leases: use it while no container has a GPU";
    LeaseFile file;
    try {
        file = parse_lease_file(text);
    } catch (const Error &error) {
        throw Error(ErrorKind::BrokenHost, error.what() + help);
    }
    LeaseState &state = file.state;
    if (file.space.boot != space.boot)
        return {{}, {}, {}, std::move(state.last_used), state.uses, state.numbers};
    if (file.space != space)
        throw Error(ErrorKind::BrokenHost, "the lease file was written from " +
                                               other_space(file.space, space) +
                                               ", where the numbers of processes mean others" + help);
    return std::move(state);
}

LeaseState LeaseStore::read() const
{
    return state_for(processes_.space(), directory_.read(state_document, max_lease_file),
                     directory_.how_to_clear());
}

LeaseStore::Session::Session(const LeaseStore &store, UniqueFd lock)
    : store_(store), lock_(std::move(lock)), state_(store.read()), before_(state_)
{
}

void LeaseStore::Session::note_ends()
{
    note_early_exits(before_, ends_, boottime_ns(), state_, noted_);
}

/** Of who has something no more, or less. */
void LeaseStore::Session::count_ends(std::int64_t now)
{
    auto next = state_.allocations.begin(); // those that stay keep their order
    for (const Allocation &had : before_.allocations) {
        const auto found = std::find_if(next, state_.allocations.end(), [&](const Allocation &allocation) {
            return allocation.holder.init == had.holder.init;
        });
        LeaseCounts::ByVendor less = devices_by_vendor(had);
        if (found != state_.allocations.end()) {
            const LeaseCounts::ByVendor left = devices_by_vendor(*found);
            for (size_t vendor = 0; vendor < left.size(); ++vendor)
                less.at(vendor) -= std::min(less.at(vendor), left.at(vendor));
            next = found;
        }
        state_.counts.add_time(less, now - had.taken_ns);
    }
}

void LeaseStore::Session::save()
{
    note_ends();
    if (state_ == before_)
        return;
    const std::int64_t now = boottime_ns();
    count_ends(now);
    // First, with the lock held: should this process be killed on the way, nobody sleeps who could be served.
    wake_waiters(store_.processes_, state_);
    store_.directory_.write(state_document, to_text({store_.processes_.space(), state_}));
    if (store_.history_ != nullptr)
        add_ends(*store_.history_, before_, state_, ends_, now);
}

} // namespace ogh
