// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ogh::admin {

// What a process says of itself: anybody's text.

/** The parts of a text that end with NUL each: proc(5) on cmdline and environ. */
std::vector<std::string> split_at_nul(std::string_view text);

/** Whether a command line is one of Concourse's worker. @param words not empty */
bool is_worker(const std::vector<std::string> &words);

/** How a worker was told what: options win over the environment, and quickstart has a prefix of its own for both. */
class WorkerSettings final {
public:
    /** @param words the command line, not empty @param environment NAME=VALUE, the last of equal names counts */
    WorkerSettings(std::vector<std::string> words, std::vector<std::string> environment);

    /** @param flag "runtime" @param variable "RUNTIME". @return nothing if it was not told */
    [[nodiscard]] std::optional<std::string> value(const std::string &flag,
                                                   const std::string &variable) const;

private:
    std::vector<std::string> words_;
    std::vector<std::string> environment_;
    bool is_quickstart_;
};

} // namespace ogh::admin
