// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/command_line.h"
#include "lease/rules/preemption.h"
#include "lease/state/lease_state.h"
#include "oci/config.h"
#include "request/request.h"

namespace ogh {

/** The host's limits to what many containers have together. */
struct QuotaOptions {
    Quotas quotas; ///< named as the annotation is, where it is one for each value
    std::optional<unsigned> max_sharers;
};

/** What is no quota, or one by an annotation that a user can choose, is refused as it is read: Error (Usage). */
void add_quota_options(CommandLine &cli, QuotaOptions &options);

/** @throws Error (Usage) for a number of sharers that there cannot be */
void check(const QuotaOptions &options);

/**
 * In which quotas a request counts: those of the host's policy, that of the key that it was asked with, and those by what the
 * engine says of the container.
 * @param config nothing with --plan by hand, which takes no lease
 * @param options as check() accepts them
 * @throws Error: Denied as engines_value() does; Usage for a name that is too long to be written down
 */
Quotas quotas_of(const std::optional<Config> &config, const Request &request, const QuotaOptions &options);

/** The host's side of leases. */
struct LeaseOptions {
    LeaseMode least = LeaseMode::Shared; ///< what every container has to accept
    std::string max_wait = "0s";
    std::vector<std::string> idle_inits; ///< empty: the default of PreemptionPolicy
    std::string idle_after = "1s";       ///< or "never"
    std::string begin_within = "2m";
    std::optional<std::string> max_hold; ///< nothing: for ever
    QuotaOptions quotas;
    std::optional<std::string> drain;
    std::optional<std::string> undrain;
    std::optional<std::string> drain_time;
};

/** @param origin of the text, for the message. @throws Error (Usage) */
std::chrono::seconds duration_of(const std::string &text, const std::string &origin);

/** All but --drain and --undrain. */
void add_lease_options(CommandLine &cli, LeaseOptions &options);
void add_drain_options(CommandLine &cli, LeaseOptions &options);

/** What --drain says: which GPUs, and why; "" for no reason. */
struct DrainWords {
    std::string gpus;
    std::string reason;
};
DrainWords drain_words(const std::string &text);

/** @throws Error (Usage) for what is no duration, no absolute path or no quota, or --drain beside --undrain */
void check(const LeaseOptions &options);

/** @param options as check() accepts them */
PreemptionPolicy preemption_policy(const LeaseOptions &options);

/** What a container asks of the leases, within what the host's options allow. */
struct LeaseTerms {
    LeaseMode mode = LeaseMode::Shared;
    std::chrono::seconds wait{0};
    bool is_explicit = false; ///< asked for, or demanded by the host; not the default
    std::optional<std::chrono::seconds> hold =
        {}; ///< how long it may have it where others wait; nothing: for ever

    bool operator==(const LeaseTerms &) const = default;
};

/**
 * Understands what a request says of `lease` (`shared`, `exclusive`), and of `wait` and `hold` (durations); where the host
 * asks, and nobody says how long it waits, it is --max-wait.
 * @param options as check() accepts them
 * @throws Error: Usage; Denied for a wait that is longer than --max-wait, and to hold for longer than --max-hold
 */
LeaseTerms lease_terms(const Request &request, const LeaseOptions &options);

/** For a container that has none. @throws Error (Usage) if something is said of `lease`, `wait` or `hold` */
void refuse_lease(const Request &request);

} // namespace ogh
