// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hook/command_line.h"
#include "lease/lease_state.h"
#include "oci/config.h"
#include "request/key_file.h"

namespace ogh {

/** The host's limits to what many containers have together. */
struct QuotaOptions {
    Quotas quotas;
    Quotas quotas_by; ///< named as the annotation is
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
Quotas quotas_of(const std::optional<Config> &config, const KeyLimits &limits, const QuotaOptions &options);

} // namespace ogh
