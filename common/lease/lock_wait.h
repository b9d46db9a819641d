// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "lease/processes.h"

namespace ogh {

/**
 * Which process has the lock (flock) of a file.
 * @param locks the text of /proc/locks; see fs/locks.c of the kernel, lock_get_status()
 * @return nothing if nobody has it, or a process that this pid namespace does not show
 */
std::optional<pid_t> lock_holder(std::string_view locks, dev_t device, ino_t inode);

/**
 * Which process keeps the lock of a file, for people: one that is found to have it for half a second, which takes no time
 * where nobody has it.
 * @return "the process 17 ('python3', stopped)"; "" if there is none
 */
std::string lock_keeper(dev_t device, ino_t inode, const Processes &processes);

/** How somebody waits for a lock. */
struct Patience {
    std::chrono::milliseconds limit; ///< how long one and the same process may have it
    bool is_ended_by_signals = true; ///< not for what has to be done at the end of a run that was told to end
};

/**
 * Locks a file (flock) for this process alone. It waits for as long as the lock goes from one process to another.
 * @param name of the file, for messages
 * @throws Error (BrokenHost): one process, which the message names, has had it for so long; Cancelled, within a tenth of
 *         the patience
 */
void lock_file(int fd, const std::string &name, const Processes &processes, const Patience &patience);

} // namespace ogh
