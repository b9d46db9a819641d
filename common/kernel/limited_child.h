// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "kernel/program_box.h"

namespace ogh {

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

// The other side of run_limited(): the processes that it starts. There are two. The keeper is the first process of the PID
// namespace, so that all others end with it; it stays root, and shuts the program in. The other one becomes the program.

/** Descriptors that the keeper has of its parent. */
struct KeeperEnds {
    int parent = -1; ///< a pidfd of it
    int answer = -1; ///< to write to
    int report = -1; ///< to write to: why the program was not started or shut in, or what signal ended it
};

/** What the keeper ends with if it has written a report. */
constexpr int limited_program_reported = 127;

/** Namespaces that the keeper is to be made in; clone(2). That of mounts it makes itself. */
unsigned long keeper_namespaces(const LimitedProgram &program);

/**
 * Starts the program, shuts it in, waits for it, and ends with its status.
 * It has been forked, and its parent has no threads, so that any function may be called.
 */
[[noreturn]] void keep_program(const LimitedProgram &program, const KeeperEnds &ends) noexcept;

} // namespace ogh
