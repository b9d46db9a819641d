// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/unique_fd.h"

namespace ogh {

/**
 * Holds a process, whose number is nobody else's as long as it lives; pidfd_open(2).
 * @return nothing if no process has that number; it may be one of another thread of a process
 * @throws SystemError (BrokenHost)
 */
std::optional<UniqueFd> open_pidfd(pid_t pid);

/** Whether the process has ended, as a zombie has. Waits for that, for as many milliseconds. @throws SystemError */
bool has_ended(int pidfd, int wait_ms = 0);

} // namespace ogh
