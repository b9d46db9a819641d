// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "edits.h"
#include "log.h"

namespace ogh {

/** The container that is being created, as its state and config.json name it. */
struct Container {
    pid_t pid = 0;
    std::string rootfs; ///< absolute on the host
};

/**
 * Carries `edits` out; the only code that touches a container. All sources are opened on the host first, the
 * container is entered once, and this process stays inside. What is there already stays as it is, so that a
 * second run changes nothing. On an error what this call made is taken away again.
 * @throws Error
 */
Notes apply(const Edits &edits, const Container &container);

} // namespace ogh
