// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_store.h"

#include <utility>

#include "base/error.h"

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
        throw Error(ExitCode::Host, error.what() + help);
    }
    if (file.space.boot != space.boot)
        return {{}, {}, {}, std::move(file.state.last_used), file.state.uses, file.state.numbers};
    if (file.space != space)
        throw Error(ExitCode::Host, "the lease file was written from another pid namespace, where the "
                                    "numbers of processes mean others" +
                                        help);
    return std::move(file.state);
}

LeaseStore::Session::Session(const LeaseStore &store, UniqueFd lock)
    : state(store.read()), store_(store), lock_(std::move(lock)), saved_(state)
{
}

void LeaseStore::Session::save()
{
    if (state == saved_)
        return;
    store_.folder_.write(to_text({store_.space_, state}));
    saved_ = state;
}

} // namespace ogh
