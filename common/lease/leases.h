// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "host/sysroot.h"
#include "lease/container_requests.h"
#include "lease/presence/processes.h"
#include "lease/rules/preemption.h"
#include "lease/waiting/lease_store.h"

namespace ogh {

/** What is known of a container that has GPUs, or waits for them. */
struct LeaseEntry {
    std::vector<LeasedDevice> devices; ///< empty of one that waits
    std::optional<Demand> waits_for;
    std::string container;
    pid_t pid = 0;                         ///< of its init
    std::int64_t since = 0;                ///< seconds since 1970
    bool lives = true;                     ///< false is seen only by who may not take it off the list
    bool never_started = false;            ///< its init has not executed the container's program yet
    bool is_paused = false;                ///< its cgroup is frozen
    bool observes = false;                 ///< it has no lease of the devices
    bool is_deprived = false;              ///< it had a lease of them, which was taken away
    std::optional<PreemptReason> why = {}; ///< what it has may be another one's, from `from` on
    std::int64_t from = 0;                 ///< seconds since 1970
    std::int64_t idle_since =
        0; ///< the same: since when nothing runs in it; 0: something does, or nothing ever did
    std::int64_t deadline = 0; ///< of one that waits: until when, in seconds since 1970
    size_t place = 0;          ///< of one that waits: the first of those that wait for the same devices has 1
    ContainerLabel label = {}; ///< empty for whoever is not root
};

/** All leases of a host at one moment; a plain value. */
struct LeaseList {
    std::vector<LeaseEntry> entries; ///< who has something, and then who waits, in the order of the queue
    std::vector<Drain> drains;
    std::string scope = {};       ///< as LeaseDirectory::scope()
    LeaseState state = {};        ///< without those who have ended
    std::string lock_keeper = {}; ///< who keeps all hooks from it, for people; "" where nobody does
};

/**
 * The leases of this host: which container has which GPU, in a LeaseDirectory. Nobody has to give anything back: a
 * lease ends with its container. Construct it on the host, as root; see LeaseDirectory, state_for() and Processes for
 * what is refused.
 */
class Leases final {
public:
    /** @param history of what comes and goes; nothing: there is none. @throws Error (BrokenHost) */
    explicit Leases(const Sysroot &sysroot, std::shared_ptr<History> history = nullptr);

    /** The same; nothing where LeaseDirectory::is_possible() is false. @throws Error (BrokenHost) */
    static std::optional<Leases> open(const Sysroot &sysroot, std::shared_ptr<History> history);

    /** @param what a person asks for, for the message. @throws Error (BrokenHost) where LeaseDirectory::is_possible() is false */
    static void require(const Sysroot &sysroot, const std::string &what = "change leases");

    /**
     * Takes leases of all that is asked for, or of nothing; waits as long as it may. While it waits nothing is locked, and
     * no time is spent; a container that has something already does not wait for more, which could be for ever.
     *
     * @throws Error: Busy that says who has what since when; Denied for an exclusive lease of a container whose end cannot
     *         be told; Failure if the container or the runtime ends meanwhile; Host
     */
    [[nodiscard]] Lease take(const LeaseRequest &request);

    /**
     * Writes down that a container sees the devices that it names (`fixed`) without a lease of them; with its cgroup, so
     * that nobody takes it for one that uses them.
     * @throws Error (BrokenHost); Failure if the container has ended
     */
    void observe(const LeaseRequest &request);

    /**
     * Keeps a device from being given until undrain(), its end or the next boot; who has it keeps it.
     * @return whether that is new
     */
    bool drain(const Drain &drain);

    /**
     * @param by only what that program has drained, see Drain::by; nothing: whoever has
     * @return whether it was drained, by just this key
     */
    bool undrain(const LeaseKey &key, const std::optional<std::string> &by = {});

    /**
     * Tells the hook of a container that waits to end (SIGTERM): its container does not start, and its place is free.
     * @param container its id, or a beginning of it that no other one has that waits; nothing: all that wait
     * @return their ids, whole. @throws Error (NotAvailable) if none waits that is called so; (Usage) if several are
     */
    std::vector<std::string> cancel(const std::optional<std::string> &container);

    /** All that there is, for any user, as far as that one may see; changes nothing. */
    static LeaseList look(const Sysroot &sysroot, const PreemptionPolicy &policy);

    /** What has happened on this host since its boot, with what those have had so far that have something now. @throws Error (BrokenHost) */
    static LeaseCounts counts(const Sysroot &sysroot);

private:
    Leases(LeaseDirectory directory, std::shared_ptr<History> history);

    std::shared_ptr<const LeaseStore> store_; ///< a lease needs it until it is kept or given back
};

/**
 * take() where leases are possible. Where they are not, the devices without a lease: all of `fixed`, and the first of the
 * candidates; that is a note.
 * @param leases nothing where LeaseDirectory::is_possible() is false
 * @throws Error (NotAvailable) if a lease was asked for, or is needed to count, and there can be none; and as take()
 */
Lease take_if_possible(Leases *leases, const LeaseRequest &request, Notes &notes);

} // namespace ogh
