// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_store.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "lease/boot_clock.h"
#include "lease/lease_bounds.h"
#include "lease/lease_file.h"
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

} // namespace

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
    return state_for(processes_.space(), directory_.read(state_document, max_lease_file), how_to_clear());
}

LeaseCounts LeaseStore::counts() const
{
    LeaseState state = read();
    const std::int64_t now = boottime_ns();
    for (const Allocation &allocation : state.allocations)
        state.counts.add_time(devices_by_vendor(allocation), now - allocation.taken_ns);
    return state.counts;
}

LeaseStore::Session::Session(const LeaseStore &store, UniqueFd lock)
    : store_(store), lock_(std::move(lock)), state_(store.read()), before_(state_)
{
}

void LeaseStore::Session::note_ends()
{
    note_quick_ends(before_, ends_, boottime_ns(), state_, noted_);
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
    wake_waiters(store_.processes_, state_, state_.drains == before_.drains ? change_ : StateChange::Other);
    store_.directory_.write(state_document, to_text({store_.processes_.space(), state_}));
    if (store_.history_ != nullptr)
        add_ends(*store_.history_, before_, state_, ends_, now);
}

} // namespace ogh
