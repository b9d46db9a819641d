// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ogh::admin {

// What a process says of itself: anybody's text.

/** The parts of a text that end with NUL each: proc(5) on cmdline and environ. */
std::vector<std::string> split_at_nul(std::string_view text);

/** Whether a command line is one of Concourse's worker. @param words not empty */
bool is_worker(const std::vector<std::string> &words);

/**
 * What a worker was told: an option wins over the environment, and quickstart has a prefix of its own for both.
 * @param words the command line
 * @param environment NAME=VALUE, the last of equal names counts
 * @param option without dashes: of "runtime" the variable is CONCOURSE_RUNTIME
 * @return nothing if it was not told
 */
std::optional<std::string> worker_setting(const std::vector<std::string> &words,
                                          const std::vector<std::string> &environment,
                                          const std::string &option);

} // namespace ogh::admin
