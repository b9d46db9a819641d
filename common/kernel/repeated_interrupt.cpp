// SPDX-License-Identifier: Apache-2.0
#include "kernel/repeated_interrupt.h"

#include <cerrno>
#include <ctime>

#include "base/error.h"

namespace ogh {

namespace {

/** Without SA_RESTART that it is called is all it takes. */
extern "C" void end_the_call(int /*number*/) {}

void start(timer_t timer, std::chrono::nanoseconds interval)
{
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(interval);
    const timespec each{seconds.count(), (interval - seconds).count()};
    const itimerspec value{each, each};
    if (::timer_settime(timer, 0, &value, nullptr) != 0)
        throw SystemError(errno, "cannot set a timer (timer_settime)");
}

} // namespace

RepeatedInterrupt::RepeatedInterrupt(std::chrono::nanoseconds interval)
{
    struct sigaction action {};
    action.sa_handler = end_the_call;
    ::sigaction(SIGURG, &action, &before_); // fails for no signal that there is
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGURG;
    try {
        if (::timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0)
            throw SystemError(errno, "cannot make a timer (timer_create)");
        start(timer_, interval);
    } catch (const Error &) {
        ::sigaction(SIGURG, &before_, nullptr); // the timer, if there is one, goes with the process
        throw;
    }
}

RepeatedInterrupt::~RepeatedInterrupt()
{
    ::timer_delete(timer_);
    ::sigaction(SIGURG, &before_, nullptr);
}

} // namespace ogh
