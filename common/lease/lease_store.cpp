// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_store.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "lease/boot_clock.h"
#include "lease/later_tickets.h"
#include "lease/lease_bounds.h"
#include "lease/lease_text.h"
#include "lease/quick_ends.h"

namespace ogh {

namespace {

/** The start of process 1 is another one as well where the clock since boot is. */
std::string other_space(const ProcessSpace &written, const ProcessSpace &own)
{
    const std::string other = "another pid namespace";
    return written.pid_namespace == own.pid_namespace
               ? "another time namespace, or " + other + " that had the same number"
               : other;
}

/** Of a state that can be understood. */
bool is_of_another_boot(std::string_view text, const ProcessSpace &space)
{
    return !text.empty() && text.find(space.boot) == std::string::npos;
}

/** They may be many. */
std::string without_tickets(std::string_view text)
{
    constexpr std::string_view ticket = "\nticket ";
    const size_t start = text.find(ticket);
    if (start == std::string_view::npos)
        return std::string(text);
    const size_t observers = text.find("\nobserver ", text.rfind(ticket));
    return std::string(text.substr(0, start + 1))
        .append(observers == std::string_view::npos ? "end\n" : text.substr(observers + 1));
}

/** As state_for(). */
LeaseFilePart part_for(const ProcessSpace &space, std::string_view text, const std::string &how_to_clear,
                       std::uint64_t ticket)
{
    if (text.empty())
        return {};
    const std::string help =
        "; '" + how_to_clear + "' clears the leases: use it while no container has a GPU";
    LeaseFilePart part;
    try {
        part = parse_lease_file(text, ticket);
    } catch (const Error &error) {
        throw Error(ErrorKind::BrokenHost, error.what() + help);
    }
    const ProcessSpace &written = part.file.space;
    LeaseState &state = part.file.state;
    if (written.boot != space.boot)
        return {{space, {{}, {}, {}, std::move(state.last_used), state.uses, state.numbers}}, {}};
    if (written != space)
        throw Error(ErrorKind::BrokenHost, "the lease file was written from " + other_space(written, space) +
                                               ", where the numbers of processes mean others" + help);
    return part;
}

} // namespace

LeaseState state_for(const ProcessSpace &space, std::string_view text, const std::string &how_to_clear)
{
    return part_for(space, text, how_to_clear, 0).file.state;
}

LeaseState LeaseStore::read() const
{
    return state_for(processes_.space(), directory_.read(max_lease_file), how_to_clear());
}

LeaseCounts LeaseStore::counts() const
{
    LeaseCounts counts = read_counts(directory_);
    const std::string text = directory_.read(max_lease_file);
    if (is_of_another_boot(text, processes_.space()))
        return {};
    const std::int64_t now = boottime_ns();
    for (const Allocation &allocation : state_for(processes_.space(), text, how_to_clear()).allocations)
        counts.add_time(devices_by_vendor(allocation), now - allocation.taken_ns);
    return counts;
}

LeaseStore::Session::Session(const LeaseStore &store, UniqueFd lock, std::uint64_t ticket)
    : store_(store), lock_(std::move(lock)), saved_(store.directory_.read(max_lease_file))
{
    LeaseFilePart part = part_for(store.processes_.space(), saved_, store.how_to_clear(), ticket);
    state_ = std::move(part.file.state);
    later_ = part.later;
    if (!later_.empty())
        all_ = all_in(state_);
    drains_ = state_.drains;
    before_.reserve(state_.allocations.size());
    for (const Allocation &allocation : state_.allocations)
        before_.push_back({allocation.holder.init, allocation.taken_ns, devices_by_vendor(allocation)});
    for (const Allocation &observer : state_.observers)
        observers_.insert(observer.holder.init);
}

void LeaseStore::Session::read_later()
{
    add_tickets(state_, later_);
    later_ = {};
}

bool LeaseStore::Session::is_saved(const LeaseTextParts &text) const
{
    return saved_.size() == text.before.size() + later_.size() + text.behind.size() &&
           saved_.starts_with(text.before) && saved_.ends_with(text.behind);
}

/** Whether somebody had devices, or saw them, and does not any more. */
bool LeaseStore::Session::has_one_gone() const
{
    std::set<ProcessId> observers;
    for (const Allocation &observer : state_.observers)
        observers.insert(observer.holder.init);
    auto next = state_.allocations.begin(); // those that stay keep their order
    return !std::includes(observers.begin(), observers.end(), observers_.begin(), observers_.end()) ||
           std::any_of(before_.begin(), before_.end(), [&](const Had &had) {
               next = std::find_if(next, state_.allocations.end(), [&](const Allocation &allocation) {
                   return allocation.holder.init == had.init;
               });
               return next == state_.allocations.end();
           });
}

/** The state as it was is read once more where somebody has gone: that is not often. */
void LeaseStore::Session::note_ends()
{
    if (!has_one_gone())
        return;
    if (!with_gone_)
        with_gone_ = state_for(store_.processes_.space(), without_tickets(saved_), "");
    note_quick_ends(*with_gone_, ends_, boottime_ns(), state_, noted_);
}

void LeaseStore::Session::count_ends(std::int64_t now) const
{
    LeaseCounts counts;
    auto next = state_.allocations.begin(); // those that stay keep their order
    for (const Had &had : before_) {
        const auto found = std::find_if(next, state_.allocations.end(), [&](const Allocation &allocation) {
            return allocation.holder.init == had.init;
        });
        LeaseCounts::ByVendor less = had.devices;
        if (found != state_.allocations.end()) {
            const LeaseCounts::ByVendor left = devices_by_vendor(*found);
            for (size_t vendor = 0; vendor < left.size(); ++vendor)
                less.at(vendor) -= std::min(less.at(vendor), left.at(vendor));
            next = found;
        }
        counts.add_time(less, now - had.taken_ns);
    }
    if (counts != LeaseCounts())
        count(store_.directory_, counts);
}

void LeaseStore::Session::save()
{
    note_ends();
    // A state has one text only, which tells faster than a copy of the state whether it has changed.
    LeaseTextParts text = to_parts({store_.processes_.space(), state_});
    if (is_saved(text) || (saved_.empty() && state_ == LeaseState()))
        return;
    if (is_of_another_boot(saved_, store_.processes_.space()))
        forget_counts(store_.directory_);
    // First, with the lock held: should this process be killed on the way, nobody sleeps who could be served.
    const StateChange change = state_.drains == drains_ ? change_ : StateChange::Other;
    const size_t unread = later_.size();
    read_touched(all_, state_, later_, change);
    if (wake_waiters(store_.processes_, state_, change) || later_.size() < unread)
        text = to_parts({store_.processes_.space(), state_});
    store_.directory_.write({text.before, later_, text.behind});
    const std::int64_t now = boottime_ns();
    count_ends(now);
    if (with_gone_ && store_.history_ != nullptr)
        add_ends(*store_.history_, *with_gone_, state_, ends_, now);
}

} // namespace ogh
