// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_store.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "lease/boot_clock.h"
#include "lease/lease_bounds.h"
#include "lease/lease_text.h"
#include "lease/lease_wake.h"

namespace ogh {

LeaseState state_for(const ProcessSpace &space, const std::string &text, const std::string &how_to_clear)
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
    if (file.space.boot != space.boot)
        return {{}, {}, {}, std::move(file.state.last_used), file.state.uses, file.state.numbers};
    if (file.space != space)
        throw Error(ErrorKind::BrokenHost, "the lease file was written from another pid namespace, where the "
                                           "numbers of processes mean others" +
                                               help);
    return std::move(file.state);
}

LeaseState LeaseStore::read() const
{
    return state_for(processes_.space(), folder_.read(max_lease_file), how_to_clear());
}

LeaseStore::Session::Session(const LeaseStore &store, UniqueFd lock)
    : store_(store), lock_(std::move(lock)), saved_(store.folder_.read(max_lease_file))
{
    state_ = state_for(store.processes_.space(), saved_, store.how_to_clear());
    inits_.reserve(state_.allocations.size());
    for (const Allocation &allocation : state_.allocations)
        inits_.push_back(allocation.holder.init);
}

/** The state as it was is read once more where it is known that somebody has gone: that is not often. */
void LeaseStore::Session::write_ends(const std::string &before)
{
    // Those that stay keep their order, so that one walk tells.
    auto next = state_.allocations.begin();
    const auto is_there = [&](const ProcessId &init) {
        next = std::find_if(next, state_.allocations.end(),
                            [&](const Allocation &allocation) { return allocation.holder.init == init; });
        return next != state_.allocations.end();
    };
    if (store_.history_ != nullptr && !std::all_of(inits_.begin(), inits_.end(), is_there))
        add_ends(*store_.history_, state_for(store_.processes_.space(), before, ""), state_, ends_,
                 boottime_ns());
}

void LeaseStore::Session::save()
{
    // A state has one text only, which tells faster than a copy of the state whether it has changed.
    std::string text = to_text({store_.processes_.space(), state_});
    if (text == saved_ || (saved_.empty() && state_ == LeaseState()))
        return;
    // First, with the lock held: should this process be killed on the way, nobody sleeps who could be served.
    wake_waiters(store_.processes_, state_);
    store_.folder_.write(text);
    write_ends(std::exchange(saved_, std::move(text)));
}

} // namespace ogh
