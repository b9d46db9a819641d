// SPDX-License-Identifier: Apache-2.0
#include "lease/waiting/wait.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/error.h"
#include "kernel/end_signals.h"
#include "kernel/pidfd.h"
#include "lease/state/boot_clock.h"

namespace ogh {

namespace {

/** By default it is ignored. A terminal that changes its size wakes somebody for nothing. */
constexpr int wake_signal = SIGWINCH;

sigset_t wake_signals()
{
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, wake_signal);
    return set;
}

void send_signal(int pidfd, int number)
{
    if (::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, 0) != 0 && errno != ESRCH)
        throw SystemError(errno, "cannot send a signal to a hook that waits (pidfd_send_signal)",
                          ErrorKind::BrokenHost);
}

Error ended(const char *who)
{
    return {ErrorKind::Failure, std::string(who) + " ended while this hook waited for a GPU"};
}

/** A timeout of poll(2) would stand still while the host sleeps. */
UniqueFd timer_until(std::int64_t until_ns)
{
    UniqueFd timer(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC));
    // A time of 0 would set no timer.
    const std::int64_t time = std::max(until_ns, std::int64_t{1});
    const itimerspec value{{0, 0}, {time / 1'000'000'000, time % 1'000'000'000}};
    if (!timer.valid() || ::timerfd_settime(timer.get(), TFD_TIMER_ABSTIME, &value, nullptr) != 0)
        throw SystemError(errno, "cannot set a timer (timerfd)");
    return timer;
}

} // namespace

void accept_wakers()
{
    // One that is blocked stays pending even where it is ignored, until it is taken.
    const sigset_t set = wake_signals();
    if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0)
        throw SystemError(errno, "cannot block signals");
}

void wake(int pidfd)
{
    send_signal(pidfd, wake_signal);
}

void end_waiting(int pidfd)
{
    send_signal(pidfd, SIGTERM);
}

Companions companions(UniqueFd init, pid_t runtime)
{
    auto parent = open_pidfd(runtime);
    // A process whose parent has ended gets another one. Asked after opening: so the number was the parent's then.
    if (!parent || ::getppid() != runtime)
        throw ended("the runtime");
    return {std::move(init), std::move(*parent)};
}

void sleep_until_one_ends(const Companions &companions, const std::vector<UniqueFd> &others,
                          std::int64_t until_ns)
{
    const UniqueFd timer = timer_until(until_ns);
    std::vector<pollfd> entries = {
        {companions.init.get(), POLLIN, 0}, {companions.runtime.get(), POLLIN, 0}, {timer.get(), POLLIN, 0}};
    const UniqueFd signals = watch_end_signals(wake_signal);
    entries.push_back({signals.get(), POLLIN, 0});
    for (const UniqueFd &other : others)
        entries.push_back({other.get(), POLLIN, 0});
    while (::poll(entries.data(), entries.size(), -1) < 0) {
        if (errno != EINTR)
            throw SystemError(errno, "cannot wait for processes (poll)");
    }
    check_end_signals("waiting for a GPU");
    // Taken before the state is looked at: who changes that later sends it again.
    const timespec now{0, 0};
    const sigset_t wakers = wake_signals();
    ::sigtimedwait(&wakers, nullptr, &now);
    if (entries[0].revents != 0)
        throw ended("the container");
    if (entries[1].revents != 0)
        throw ended("the runtime");
}

} // namespace ogh
