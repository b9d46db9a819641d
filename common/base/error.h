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

/** An error that ends a run: its kind, one line for a person, and the errno of the system call that failed, if one did. */
class Error : public std::runtime_error {
public:
    Error(ErrorKind kind, const std::string &message) : std::runtime_error(message), kind_(kind) {}

    [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }
    [[nodiscard]] int error_number() const noexcept { return error_number_; } ///< 0: there is none

    /** The same as it is seen further up: of that kind, and with `context` and a colon in front, if there is any. */
    [[nodiscard]] Error as(ErrorKind kind, const std::string &context = "") const;

protected:
    Error(ErrorKind kind, const std::string &message, int error_number)
        : std::runtime_error(message), kind_(kind), error_number_(error_number)
    {
    }

private:
    ErrorKind kind_;
    int error_number_ = 0;
};

/** A system call that failed: what was tried, on what, and why. */
class SystemError : public Error {
public:
    /** The message is "WHAT: text of ERRNO". */
    SystemError(int error_number, const std::string &what, ErrorKind kind = ErrorKind::Failure);
};

} // namespace ogh
