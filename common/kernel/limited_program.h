// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace ogh {

/** A program that is asked something, and that is trusted with nothing: it loads what others have written. */
struct LimitedProgram {
    int executable = -1;            ///< a descriptor of it
    std::vector<std::string> words; ///< its command line, and first its name
    int file = -1;                  ///< a descriptor that it gets as limited_program_file
    std::chrono::milliseconds time_limit{};
    size_t max_answer = 0; ///< bytes
    std::string what;      ///< names it in messages
};

// The descriptors that it has beside /dev/null as 0, 1 and 2.
constexpr int limited_program_answer = 3; ///< where it writes its answer
constexpr int limited_program_file = 4;

/**
 * Runs a program without environment, capabilities or a way to gain any, that can write no file, and is killed with all
 * that it has started when the time is over, it says too much, or this process ends.
 * @return what it wrote to limited_program_answer
 * @throws Error (Host) if it cannot be started, or did not end by itself and with status 0; then with what it wrote
 */
std::string run_limited(const LimitedProgram &program);

} // namespace ogh
