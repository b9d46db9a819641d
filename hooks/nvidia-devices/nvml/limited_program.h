// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace ogh::nvidia_devices {

/** Something of the host that is in a box: a device node, or a directory with some. */
struct BoxEntry {
    int source = -1;  ///< O_PATH; stays the caller's
    std::string path; ///< relative to the root of the box: "dev/null". What it lies in is made.
};

/** A program that is asked something, and that is trusted with nothing: it loads what others have written. */
struct LimitedProgram {
    int executable = -1;            ///< a descriptor of it
    std::vector<std::string> words; ///< its command line, and first its name
    int file = -1;                  ///< a descriptor that it gets as limited_program_file
    std::chrono::milliseconds time_limit{};
    size_t max_answer = 0; ///< bytes
    std::string what;      ///< names it in messages
    /**
     * What it sees of the host, once it has said that it is ready: then it is nobody, in namespaces of its own (mount, PID,
     * network, IPC). Nothing for a caller who can make no namespaces, and whose own user it stays.
     */
    std::optional<std::vector<BoxEntry>> box = {};
};

// The descriptors that it has beside /dev/null as 0, 1 and 2.
constexpr int limited_program_answer = 3; ///< where it writes its answer
constexpr int limited_program_file = 4;
/**
 * A socket. The program starts with the host's files, as its own libraries are among them. Once these are loaded it writes a
 * byte and reads one, and then the files are gone; at the end of the file it was not to be shut in, and has to end.
 */
constexpr int limited_program_gate = 5;

/**
 * Runs a program without environment, capabilities or a way to gain any, that can write no file, and is killed with all
 * that it has started when the time is over, it says too much, or this process ends.
 * @return what it wrote to limited_program_answer
 * @throws Error (BrokenHost) if it cannot be started, or did not end by itself and with status 0; then with what it wrote
 */
std::string run_limited(const LimitedProgram &program);

} // namespace ogh::nvidia_devices
