// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <vector>

namespace ogh::test {

/** Under a sanitizer a fork takes twenty times as long, and races are not what it looks for: fewer rounds do. */
#ifdef __SANITIZE_ADDRESS__
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

/** How a process ended, and what it had to say. */
struct Outcome {
    int code = 0;     ///< exit status, or 128 and the signal's number
    std::string text; ///< what the work returned, or the message of the error that ended it

    bool operator==(const Outcome &) const = default;
};

std::ostream &operator<<(std::ostream &out, const Outcome &outcome);

/** The end of a process from what waitpid(2) says. */
int exit_code(int status);

/** Throws what errno says. */
[[noreturn]] void fail(const std::string &what);

/** Throws what errno says unless `result`, as most system calls return it, is not negative. */
inline void check_call(long result, const std::string &what)
{
    if (result < 0)
        fail(what);
}

/** A forked process that ends with its owner at the latest. */
class Child final {
public:
    /** @param work is what it does; then it ends with code 0, or with 125 after an exception */
    explicit Child(const std::function<void()> &work);
    Child(Child &&other) noexcept;
    Child(const Child &) = delete;
    Child &operator=(const Child &) = delete;
    Child &operator=(Child &&) = delete;
    ~Child();

    [[nodiscard]] pid_t pid() const { return pid_; }

    /** Waits for the end. @return as Outcome::code */
    int wait() noexcept;

    void kill() const;

private:
    pid_t pid_ = -1;
};

/** What a process does and returns as text. */
using Work = std::function<std::string()>;

/**
 * Runs `work` in a forked process: code 0 and its text, or what the hook would make of an exception, code and
 * message of an ogh::Error; 125 for another exception. Descriptor 1 of the process leads here, so that it may
 * close all above 2.
 */
Outcome in_child(const Work &work);

/** Runs a program of the host, whose output is of no interest. @return its exit code, or 125 if it cannot be run */
int run_program(std::vector<std::string> command);

/** Does `work` and writes code and text to descriptor 1; does not return. */
[[noreturn]] void report(const Work &work);

} // namespace ogh::test
