// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "history/history.h"
#include "lease/presence/processes.h"
#include "lease/rules/lease_wake.h"
#include "lease/state/lease_changes.h"
#include "lease/state/lease_file.h"
#include "lease/state/lease_state.h"
#include "lease/waiting/lease_directory.h"
#include "lease/waiting/refusals.h"

namespace ogh {

/** What is said of a lease that is none: the container sees the devices alone. */
constexpr std::string_view observers_lease = "observer";

/** How containers have ended that the state has no more, where whoever takes them out knows; by init. */
using KnownEnds = std::map<ProcessId, std::string>;

/**
 * What the text of a state file says to a process that lives in `space`. From another boot nothing is left of it but
 * which device was used last.
 * @param how_to_clear the command that helps, for the message
 * @throws Error (BrokenHost) if it cannot be understood, or its pids are of another pid namespace of this boot
 */
LeaseState state_for(const ProcessSpace &space, std::string_view text, const std::string &how_to_clear);

/** The state of the leases in a directory, read and written whole. It works after entering a container. */
class LeaseStore final {
public:
    /**
     * How long one process may keep the lock, which is held for moments. Both, one after the other, are less than a
     * hook has left for its work when it has waited for a GPU as long as it may.
     */
    static constexpr Patience patience{std::chrono::seconds(10)};
    /** To give back what ends with its process anyway. */
    static constexpr Patience patience_at_the_end{std::chrono::seconds(2), false};

    /** @param history of what comes and goes; nothing: there is none */
    explicit LeaseStore(LeaseDirectory directory, std::shared_ptr<History> history = nullptr)
        : directory_(std::move(directory)), history_(std::move(history))
    {
    }

    /** Those of whom the state tells. */
    [[nodiscard]] const Processes &processes() const { return processes_; }

    /** The state while no other process changes it; do not wait for anything meanwhile. */
    class Session final {
    public:
        Session(const Session &) = delete;
        Session &operator=(const Session &) = delete;

        [[nodiscard]] LeaseState &state() { return state_; }

        /** Writes the state if it has changed, and wakes who waits and has to look at it; once. @throws Error (BrokenHost), and then it is as it was */
        void save();

        /** Has what is known of those who have gone decide what is chosen now; save() does it for later. */
        void note_ends();

        /** What save() writes to the history, should that container be gone: not just "ended". */
        void explain_end(const ProcessId &init, std::string how) { ends_[init] = std::move(how); }

    private:
        friend class LeaseStore;

        Session(const LeaseStore &store, UniqueFd lock);
        void count_ends(std::int64_t now);

        const LeaseStore &store_;
        UniqueFd lock_;
        LeaseState state_;
        LeaseState before_; ///< as the file has it
        KnownEnds ends_;
        std::set<ProcessId> noted_; ///< whose ends note_ends() has noted, by init
    };

    /** @throws Error (BrokenHost); one that names who has kept the lock for so long; Cancelled */
    [[nodiscard]] Session open(const Patience &limit = patience) const
    {
        return {*this, directory_.lock(processes_, limit)};
    }

    [[nodiscard]] const LeaseDirectory &directory() const { return directory_; }

    /** @return nullptr if there is none */
    [[nodiscard]] History *history() const { return history_.get(); }

    /** The state as it was at some moment; for who may not take the lock. @throws Error (BrokenHost) */
    [[nodiscard]] LeaseState read() const;

private:
    LeaseDirectory directory_;
    std::shared_ptr<History> history_;
    Processes processes_;
};

/**
 * Devices that a container has. What was added by it is given back at the end, unless keep() was called; what the
 * container had before is not touched. Works after entering the container.
 */
class Lease final {
public:
    /** The devices, and no lease of them. */
    explicit Lease(std::vector<LeaseKey> devices) : devices_(std::move(devices)) {}
    Lease(std::shared_ptr<const LeaseStore> store, Grant grant, std::vector<LeaseKey> devices)
        : store_(std::move(store)), grant_(std::move(grant)), devices_(std::move(devices))
    {
    }
    Lease(const Lease &) = delete;
    Lease &operator=(const Lease &) = delete;
    Lease(Lease &&other) noexcept = default; // which leaves the other one nothing to give back
    ~Lease() { release(); }

    /** All that was asked for: `fixed` of the demand in its order, and then what was chosen of the candidates. */
    [[nodiscard]] const std::vector<LeaseKey> &devices() const { return devices_; }

    /**
     * Writes down what the container's device cgroup allows for the devices, by which they can be taken away from it again,
     * as far as that is possible. Call it when the container has been given them.
     */
    void note_rules(const DeviceRules &rules);

    /** What it has can be taken away by its end alone, whatever its rules: it could keep a device open unseen. */
    void ends_with_container() noexcept { hides_files_ = true; }

    /** The container is complete: it has the devices until it ends. */
    void keep() noexcept { store_.reset(); }

    /**
     * Gives back what was added, as far as that is possible: what stays is free when the container, which is not going to
     * start, has ended. A second time does nothing.
     */
    void release() noexcept;

    /** The same, and the request waits again, at the place that its number has. @throws Error */
    void exchange_for(Ticket request);

private:
    std::shared_ptr<const LeaseStore> store_; ///< nothing: there is nothing to give back
    Grant grant_;
    std::vector<LeaseKey> devices_;
    bool hides_files_ = false;
};

/**
 * Notes what is known for people of a container that has leases or waits, with the lock of the leases held, if it can be
 * done: that never keeps a container from its GPU, and the list goes without. Of those that the state does not have any more
 * nothing is kept. The file is root's alone to read, as it says who works with what.
 */
void try_to_note_people(const LeaseDirectory &directory, const LeaseState &state, const ProcessId &init,
                        const ContainerLabel &label);

/** A container has got these devices. @param lease "shared", and so on. @param waited_ns since it asked */
void add_grant(History &history, const Holder &holder, const ContainerLabel &label, std::string_view lease,
               const std::vector<LeaseKey> &devices, std::int64_t waited_ns);

/** Containers in which something has begun after what they had was taken away. */
void add_late(History &history, const std::vector<std::string> &containers);

/** @return nothing for whoever may not read it, and where it cannot be read: it is for people alone */
LeasePeople read_people(const LeaseDirectory &directory);

} // namespace ogh
