// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "hook/command_line.h"
#include "hook/hook.h"
#include "hook/quota_options.h"
#include "host/sysroot.h"
#include "lease/leases.h"
#include "request/candidate.h"
#include "request/selection.h"

namespace ogh {

/** The host's side of leases. */
struct LeaseOptions {
    LeaseMode least = LeaseMode::Shared; ///< what every container has to accept
    std::string max_wait = "0s";
    std::vector<std::string> idle_inits; ///< empty: the default of PreemptionPolicy
    std::string idle_after = "10s";
    bool no_takeover = false;
    QuotaOptions quotas;
    std::optional<std::string> drain;
    std::optional<std::string> undrain;
    std::string drain_reason;
    std::optional<std::string> drain_time;
};

/** All but --drain and --undrain. */
void add_lease_options(CommandLine &cli, LeaseOptions &options);
void add_drain_options(CommandLine &cli, LeaseOptions &options);

/** @throws Error (Usage) for what is no duration, no absolute path or no quota, or --drain beside --undrain */
void check(const LeaseOptions &options);

/** @param options as check() accepts them */
PreemptionPolicy preemption_policy(const LeaseOptions &options);

/** What a container asks of the leases, within what the host's options allow. */
struct LeaseTerms {
    LeaseMode mode = LeaseMode::Shared;
    std::chrono::seconds wait{0};
    bool is_explicit = false; ///< asked for, or demanded by the host; not the default
    Quotas quotas = {};
    std::optional<unsigned> max_sharers = {};

    bool operator==(const LeaseTerms &) const = default;
};

/**
 * Understands what a request says of `lease` (`shared`, `exclusive`) and `wait` (a duration); where the host asks, and
 * nobody says how long, it is --max-wait.
 * @param options as check() accepts them
 * @throws Error: Usage; Denied for a wait that is longer than --max-wait
 */
LeaseTerms lease_terms(const Request &request, const LeaseOptions &options);

/**
 * The same, with what counts beside other containers.
 * @throws Error as lease_terms() and quotas_of()
 */
LeaseTerms counted_terms(const Hook &hook, const Request &request, const LeaseOptions &options);

/**
 * Refuses a wait that the runtime would cut short: one that config.json has this executable with a timeout for that is
 * not at least five seconds longer.
 * @throws Error (Usage)
 */
void check_timeout(const std::vector<HookEntry> &hooks, std::chrono::seconds wait);

/** What is left to say of a request, besides its devices. */
struct LeaseDetails {
    LeaseTerms terms;
    PreemptionPolicy preemption;
    std::optional<unsigned> max_devices; ///< together with what the container has already of what counts
    std::vector<std::string> counted;    ///< as LeaseRequest has it
    std::string name = {};               ///< as LeaseRequest has it
    bool is_for_all = false;
};

/**
 * Takes leases of what the choice means, or waits for them, and puts on the hook's undo log that they are given back.
 * @throws Error as Leases::take() does
 */
std::shared_ptr<Lease> take_lease(Hook &hook, const Sysroot &sysroot, const Choice &choice,
                                  const std::vector<Candidate> &candidates, const LeaseDetails &details,
                                  Notes &notes);

/**
 * The same for devices that leave no choice.
 * @param name_device for messages
 */
std::shared_ptr<Lease> take_lease(Hook &hook, const Sysroot &sysroot, std::vector<LeaseKey> keys,
                                  const LeaseDetails &details, NameDevice name_device, Notes &notes);

/**
 * Where the devices are in the list, which may have been read anew since the lease was taken.
 * @return ascending
 * @throws Error (NotAvailable) if one is not there any more; its own code for its problem
 */
std::vector<size_t> indices_of(const std::vector<LeaseKey> &keys, const std::vector<Candidate> &candidates);

/**
 * --drain, --undrain: keeps the devices from being given, or not any more.
 * @param options as check() accepts them, with one of the two
 * @throws Error: NotAvailable if there is none of them; BrokenHost if this process is not the host's root
 */
void drain(const Sysroot &sysroot, const Selectors &selectors, const std::vector<Candidate> &candidates,
           const LeaseOptions &options);

} // namespace ogh
