// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernel/limited_child.h"

namespace ogh {

/**
 * Runs a program without environment, capabilities or a way to gain any, that can write no file, and is killed with all
 * that it has started when the time is over, it says too much, or this process ends.
 * @return what it wrote to limited_program_answer
 * @throws Error (BrokenHost) if it cannot be started, or did not end by itself and with status 0; then with what it wrote
 */
std::string run_limited(const LimitedProgram &program);

} // namespace ogh
