// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace ogh {

/**
 * What the system call that a process is in at this moment is about: a path as the process names it, or that of a
 * descriptor (proc(5): /proc/PID/syscall, mem and fd). Nothing on a filesystem is touched, so that it can be asked of a
 * process that waits for one.
 *
 * @param pid of a process that this one may trace
 * @return absolute, symlinks not followed; nothing if the process is in no call, if the call is about no file, or if the
 *         kernel does not tell
 */
std::optional<std::string> awaited_path(pid_t pid);

} // namespace ogh
