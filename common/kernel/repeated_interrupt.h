// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <csignal>
#include <ctime>

namespace ogh {

/**
 * While it exists a system call in which this process waits ends with EINTR, again and again, so that it can be given
 * up. By SIGURG, which is ignored otherwise: one that comes late does nothing. One at a time, of a process with one thread.
 */
class RepeatedInterrupt final {
public:
    /** @param interval more than 0. @throws SystemError */
    explicit RepeatedInterrupt(std::chrono::nanoseconds interval);
    RepeatedInterrupt(const RepeatedInterrupt &) = delete;
    RepeatedInterrupt &operator=(const RepeatedInterrupt &) = delete;
    ~RepeatedInterrupt();

private:
    timer_t timer_{};
    struct sigaction before_ {};
};

} // namespace ogh
