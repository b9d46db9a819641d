// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_store.h"

#include <utility>

#include "base/error.h"
#include "lease/lease_bounds.h"
#include "lease/lease_text.h"

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
}

void LeaseStore::Session::save()
{
    // A state has one text only, which tells faster than a copy of the state whether it has changed.
    std::string text = to_text({store_.processes_.space(), state_});
    if (text == saved_ || (saved_.empty() && state_ == LeaseState()))
        return;
    store_.folder_.write(text);
    saved_ = std::move(text);
}

} // namespace ogh
