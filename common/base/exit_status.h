// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

namespace ogh {

/** The exit status of every hook and of the command; they are part of the interface, and stand in the man pages. */
enum class ExitStatus : int {
    Success = 0,
    Failure = 1,
    Usage = 2,
    NotAvailable = 3,
    Busy = 4,
    Denied = 5,
    BrokenHost = 6,
};

/** What a program ends with that an error of this kind has ended. */
ExitStatus exit_status(ErrorKind kind);

/** What a hook says by its exit status; Failure for one that is none of a hook's. */
ErrorKind kind_of_status(int exit_status);

} // namespace ogh
