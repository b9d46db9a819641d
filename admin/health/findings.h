// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "health/faults.h"
#include "lease/state/lease_state.h"

namespace ogh::admin {

/** What 'check' says in the end. */
struct CheckFindings {
    std::map<LeaseKey, std::optional<std::uint64_t>> gpus; ///< those that hooks list, with their numbers
    std::vector<Fault> faults;                             ///< what is over is in it as long as it drains
    std::map<std::pair<LeaseKey, std::string>, unsigned> reports; ///< what was said of a GPU, and how often
    std::vector<std::string> notes;                               ///< sentences
    std::vector<std::string> not_looked_at;
};

/** For people: a line each, and one that sums up. */
std::string to_text(const CheckFindings &findings);

/** For programs; "status" is "failed", "not looked at" or "nothing found". */
std::string to_json(const CheckFindings &findings);

/**
 * For a custom plugin of node-problem-detector's: a line of at most 80 characters, which is what it takes by its default
 * (max_output_length). docs/custom_plugin_monitor.md there.
 */
std::string to_npd_line(const CheckFindings &findings);

// What the command ends with. The first three are for text and JSON: they are none of the statuses of ExitStatus that an
// error ends it with, so that nobody takes an error for a GPU that has failed, or the other way round.
constexpr int status_not_looked_at = 7;
constexpr int status_failed = 8;
constexpr int npd_ok = 0;
constexpr int npd_problem = 1;
constexpr int npd_unknown = 2;

/** A GPU that has failed counts more than what could not be looked at. */
int check_status(const CheckFindings &findings);
int npd_status(const CheckFindings &findings);

/** Of a text, as much as such a line takes. */
std::string npd_line(std::string text);

} // namespace ogh::admin
