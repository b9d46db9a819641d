// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/unique_fd.h"
#include "lease/lease_file.h"
#include "lease/lease_folder.h"
#include "lease/lease_state.h"
#include "lease/processes.h"

namespace ogh {

/**
 * What the text of a state file says to a process that lives in `space`. From another boot nothing is left of it but
 * which device was used last.
 * @param how_to_clear the command that helps, for the message
 * @throws Error (Host) if it cannot be understood, or its pids are of another pid namespace of this boot
 */
LeaseState state_for(const ProcessSpace &space, const std::string &text, const std::string &how_to_clear);

/** The state of the leases in a folder, read and written whole. */
class LeaseStore final {
public:
    explicit LeaseStore(LeaseFolder folder, ProcessSpace space)
        : folder_(std::move(folder)), space_(std::move(space))
    {
    }

    /** The state while no other process changes it; do not wait for anything meanwhile. */
    class Session final {
    public:
        [[nodiscard]] LeaseState &state() { return state_; }

        /** Writes the state if it has changed. @throws Error (Host), and then it is as it was */
        void save();

    private:
        friend class LeaseStore;
        Session(const LeaseStore &store, UniqueFd lock);

        const LeaseStore &store_;
        UniqueFd lock_;
        LeaseState state_;
        std::string saved_; ///< what the file says
    };

    /** @throws Error (Host) */
    [[nodiscard]] Session open() const { return {*this, folder_.lock()}; }

    /** The state as it was at some moment; for who may not take the lock. @throws Error (Host) */
    [[nodiscard]] LeaseState read() const;

private:
    [[nodiscard]] std::string how_to_clear() const { return folder_.how_to_clear(); }

    LeaseFolder folder_;
    ProcessSpace space_;
};

} // namespace ogh
