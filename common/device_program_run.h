// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device_program.h"

namespace ogh {

/** What a program is run with. */
struct Run {
    const DeviceProgram &program;
    DeviceRule asked; ///< this access exactly
};

/**
 * Does here what the kernel would do: nobody can ask it what a device program answers. Only arithmetic, jumps,
 * the context and the stack are known; whatever else the program does makes the answer Unknown. It ends.
 */
Verdict run(const Run &run);

} // namespace ogh
