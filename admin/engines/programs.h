// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/exit_status.h"
#include "base/unique_fd.h"
#include "host/sysroot.h"

namespace ogh::admin {

/** Where root looks for programs. */
std::span<const char *const> program_directories();

/** Where a program lies that root would find by its name. @return nothing if it is not installed */
std::optional<std::string> find_program(const Sysroot &sysroot, const std::string &name);

/** An executable of this host that was looked at, and is run by the descriptor that was looked at. */
struct Program {
    std::string path; ///< for messages
    UniqueFd fd;      ///< O_PATH
};

/**
 * Opens an executable that only root may change.
 * @param other_owner a user that counts as root does
 * @return nothing if it does not exist
 * @throws Error (BrokenHost) if others may, or it is no executable file
 */
std::optional<Program> open_program(const std::string &path, uid_t other_owner = 0);

/** What a program said. */
struct ProgramOutput {
    int exit_status = 0; ///< 128 and the signal's number if one ended it
    std::string out;
    std::string err;
};

/**
 * Runs a program with nothing on standard input and no environment but a PATH, and waits for it. What it prints after
 * the first mebibyte is dropped.
 * @param words the command line
 * @param limit when it is killed
 * @throws SystemError if it cannot be started; Error if it was killed for the time
 */
ProgramOutput run_program(const Program &program, const std::vector<std::string> &words,
                          std::chrono::seconds limit);

/** Whether one of our programs ended with that. */
bool is_status(const ProgramOutput &output, ExitStatus status);

/** The last line of what a program has printed, without its end. */
std::string last_line(std::string output);

} // namespace ogh::admin
