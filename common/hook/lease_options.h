// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/command_line.h"
#include "lease/container_requests.h"
#include "lease/rules/preemption.h"
#include "lease/state/lease_state.h"
#include "oci/config.h"
#include "request/request.h"

namespace ogh {

/** The host's side of leases. */
struct LeaseOptions {
    LeaseMode least = LeaseMode::Shared; ///< what every container has to accept
    std::chrono::seconds max_wait{0};
    PreemptionPolicy preemption;
    std::optional<std::chrono::seconds> max_hold; ///< nothing: for ever
    Quotas quotas; ///< named as the annotation is, where it is one for each value
    std::optional<unsigned> max_sharers;
    std::optional<std::string> drain; ///< which GPUs
    std::string drain_reason;         ///< "" for none
    std::optional<std::chrono::seconds> drain_time;
    std::optional<std::string> undrain;
};

/**
 * All but --drain and --undrain. What is no duration, no quota, or one by an annotation that a user can choose, is refused as
 * it is read: Error (Usage).
 */
void add_lease_options(CommandLine &cli, LeaseOptions &options);
void add_drain_options(CommandLine &cli, LeaseOptions &options);

/** @throws Error (Usage) for a number that there cannot be, or --drain beside --undrain */
void check(const LeaseOptions &options);

/**
 * What a request says of `lease` (`shared`, `exclusive`), and of `wait` and `hold` (durations), within what the host's options
 * allow: how a lease is had, waited for and counted; not yet of what. Where the host asks, and nobody says how long it waits,
 * it is --max-wait. It counts in the quotas of the host's policy, in that of the key that it was asked with, and in those by
 * what the engine says of the container.
 * @param config nothing with --plan by hand, which takes no lease
 * @param options as check() accepts them
 * @throws Error: Usage, also for a quota's name that is too long to be written down; Denied for a wait that is longer than
 *         --max-wait, to hold for longer than --max-hold, and as engines_value() does
 */
LeaseRequest lease_request(const std::optional<Config> &config, const Request &asked,
                           const LeaseOptions &options);

/** For a container that has none. @throws Error (Usage) if something is said of `lease`, `wait` or `hold` */
void refuse_lease(const Request &request);

} // namespace ogh
