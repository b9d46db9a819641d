// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "host/sysroot.h"

namespace ogh::admin {

/** Where a program lies that root would find by its name. @return nothing if it is not installed */
std::optional<std::string> find_program(const Sysroot &sysroot, const std::string &name);

/** What a program said. */
struct ProgramOutput {
    int exit_status = 0; ///< 128 and the signal's number if one ended it
    std::string out;
    std::string err;
};

/**
 * Runs a program with nothing on standard input and no environment but a PATH, and waits for it. What it prints after
 * the first mebibyte is dropped.
 * @param words the command line; the first is the path of the executable, as this process names it
 * @param limit when it is killed
 * @throws SystemError if it cannot be started; Error if it was killed for the time
 */
ProgramOutput run_program(const std::vector<std::string> &words, std::chrono::seconds limit);

/** The last line of what a program has printed, without its end. */
std::string last_line(std::string output);

} // namespace ogh::admin
