// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace ogh {

/** What kind of thing went wrong, for whoever acts on it; the text of an error is for people alone. */
enum class ErrorKind {
    None,             ///< nothing did
    Failure,          ///< anything not named below
    Usage,            ///< an option, an annotation or a value that cannot be understood
    NotAvailable,     ///< asked for something that this host does not have
    Busy,             ///< what was asked for is held by another container
    Denied,           ///< the host's policy does not allow it
    TimedOut,         ///< the run took longer than it may
    BrokenHost,       ///< the host is not as it should be
    HostileContainer, ///< the container is as only somebody makes it who wants to get out of it
};

/** An error that ends a run: its kind, and one line for a person. */
class Error : public std::runtime_error {
public:
    Error(ErrorKind kind, const std::string &message) : std::runtime_error(message), kind_(kind) {}

    [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

private:
    ErrorKind kind_;
};

/** A system call that failed: what was tried, on what, and why. */
class SystemError : public Error {
public:
    /** The message is "WHAT: text of ERRNO". */
    SystemError(int error_number, const std::string &what, ErrorKind kind = ErrorKind::Failure);

    [[nodiscard]] int error_number() const noexcept { return error_number_; }

private:
    int error_number_;
};

} // namespace ogh
