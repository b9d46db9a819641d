// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/unique_fd.h"

namespace ogh {

/**
 * Makes this process one that a waker can reach, for good: before others can know that it waits. A process that has not
 * done so ignores the signal.
 */
void accept_wakers();

/** Has a process that waits look again; nothing happens if it has ended. @throws SystemError */
void wake(int pidfd);

/** Tells a hook that waits to end, with its words, and to leave the queue; nothing happens if it has ended. @throws SystemError */
void end_waiting(int pidfd);

/** Those without whom a hook need not wait any more. */
struct Companions {
    UniqueFd init;    ///< pidfd of the container's init
    UniqueFd runtime; ///< pidfd of this process's parent
};

/**
 * @param init its pidfd
 * @param runtime this process's parent, as it was when the process started
 * @throws Error if the parent has ended: the parent is another one now
 */
Companions companions(UniqueFd init, pid_t runtime);

/**
 * Sleeps until one of the processes has ended, somebody has called wake(), or the time has come; looks at nothing
 * meanwhile.
 * @param others pidfds
 * @param until_ns CLOCK_BOOTTIME
 * @throws Error if one of the companions has ended; Cancelled if this process has been told to end, where it has blocked
 *         what tells it
 */
void sleep_until_one_ends(const Companions &companions, const std::vector<UniqueFd> &others,
                          std::int64_t until_ns);

} // namespace ogh
