// SPDX-License-Identifier: Apache-2.0
#include "kernel/end_signals.h"

#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>

namespace ogh {

namespace {

sigset_t end_signals()
{
    sigset_t set;
    ::sigemptyset(&set);
    for (const int number : {SIGTERM, SIGINT, SIGHUP})
        ::sigaddset(&set, number);
    return set;
}

const char *pending_name()
{
    sigset_t pending;
    ::sigemptyset(&pending);
    if (::sigpending(&pending) != 0)
        return nullptr;
    if (::sigismember(&pending, SIGTERM) == 1)
        return "SIGTERM";
    if (::sigismember(&pending, SIGINT) == 1)
        return "SIGINT";
    return ::sigismember(&pending, SIGHUP) == 1 ? "SIGHUP" : nullptr;
}

} // namespace

void block_end_signals()
{
    const sigset_t set = end_signals();
    if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0)
        throw SystemError(errno, "cannot block signals");
}

bool unblock_signals() noexcept
{
    sigset_t none;
    ::sigemptyset(&none);
    return ::sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
}

UniqueFd watch_end_signals(int another)
{
    sigset_t set = end_signals();
    if (another != 0)
        ::sigaddset(&set, another);
    UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC));
    if (!fd.valid())
        throw SystemError(errno, "cannot watch for signals (signalfd)");
    return fd;
}

int take_end_signal() noexcept
{
    const sigset_t set = end_signals();
    const timespec now{0, 0};
    const int number = ::sigtimedwait(&set, nullptr, &now);
    return number > 0 ? number : 0;
}

void check_end_signals(const std::string &at)
{
    if (const char *const name = pending_name())
        throw Cancelled(std::string("ended by ") + name + " while " + at);
}

} // namespace ogh
