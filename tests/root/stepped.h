// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>

#include "child.h"

namespace ogh::test {

/** A system call that a process is about to make. */
struct Step {
    int index = 0;   ///< counted from the first one that is looked at
    long number = 0; ///< SYS_…
    pid_t pid = 0;
};

/**
 * As in_child(), but the process is held before each system call from its first `from` on, and `before` is
 * asked what happens at this moment. So a race is tried at every step, and every time with the same result.
 *
 * @param after is asked when the call is over, before the process goes on
 */
Outcome in_stepped_child(const Work &work, long from, const std::function<void(const Step &)> &before,
                         const std::function<void(const Step &)> &after = {});

} // namespace ogh::test
