// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace ogh {

/** Exit codes of every hook; they are part of the interface and stand in the man pages. */
enum class ExitCode : int {
    Success = 0,
    Failure = 1,      ///< anything not named below
    Usage = 2,        ///< an option, an annotation or a value that cannot be understood
    NotAvailable = 3, ///< asked for something that this host does not have
    Busy = 4,         ///< what was asked for is held by another container
    Policy = 5,       ///< the host's policy does not allow it
    Host = 6,         ///< the host is not as it should be
};

/** An error that ends the hook: one line for a person, and the exit code. */
class Error : public std::runtime_error {
public:
    Error(ExitCode code, const std::string &message) : std::runtime_error(message), code_(code) {}

    [[nodiscard]] ExitCode code() const noexcept { return code_; }

private:
    ExitCode code_;
};

/** A system call that failed: what was tried, on what, and why. */
class SystemError : public Error {
public:
    /** The message is "WHAT: text of ERRNO". */
    SystemError(int error_number, const std::string &what, ExitCode code = ExitCode::Failure);

    [[nodiscard]] int error_number() const noexcept { return error_number_; }

private:
    int error_number_;
};

} // namespace ogh
