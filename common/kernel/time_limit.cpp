// SPDX-License-Identifier: Apache-2.0
#include "kernel/time_limit.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/error.h"
#include "base/exit_status.h"
#include "base/file.h"
#include "base/unique_fd.h"
#include "kernel/end_signals.h"

namespace ogh {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock; // stands still while the host sleeps

/** How much longer a process has that looks at the time itself: to take back what it has done. */
constexpr milliseconds undo_time{1000};

/** The same for a child, whom its parent lets live for no longer than `undo_time`: should the parent be gone. */
constexpr milliseconds grace{2000};

/** Of what a child may write; a plan is some kilobytes long. */
constexpr size_t max_output = size_t{16} << 20U;

/** 0 if it is past. */
milliseconds time_until(Clock::time_point end)
{
    return std::max(std::chrono::ceil<milliseconds>(end - Clock::now()), milliseconds(0));
}

/** Sets this process's only timer; 0 takes it back. A child begins without. */
void end_by_signal_after(milliseconds time)
{
    const itimerval value{{0, 0}, {time.count() / 1000, time.count() % 1000 * 1000}};
    if (::setitimer(ITIMER_REAL, &value, nullptr) != 0)
        throw SystemError(errno, "cannot set a timer (setitimer)");
}

/** A file without a name: a process that never ends holds up nobody by it, as it would by a pipe. */
UniqueFd make_output()
{
    UniqueFd fd(::memfd_create("output", MFD_CLOEXEC));
    if (!fd.valid())
        throw SystemError(errno, "cannot make a file for a child's output (memfd_create)");
    return fd;
}

std::string written_to(const UniqueFd &output)
{
    if (::lseek(output.get(), 0, SEEK_SET) != 0)
        throw SystemError(errno, "cannot read a child's output");
    return read_all(output.get(), max_output, "a child's output");
}

void pass_on(const UniqueFd &out, const UniqueFd &err)
{
    const std::string messages = written_to(err);
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, messages.data(), messages.size());
    if (const std::string text = written_to(out); !text.empty())
        write_all(STDOUT_FILENO, text, "to stdout");
}

void redirect(int from, int to)
{
    if (::dup2(from, to) < 0)
        throw SystemError(errno, "cannot redirect a descriptor (dup2)");
}

/** What the child does first. */
void begin(pid_t parent, const UniqueFd &out, const UniqueFd &err)
{
    // Should the parent be killed. The kernel forgets it when this process acts as another user, setfsuid(2).
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        throw SystemError(errno, "cannot bind a process to its parent (prctl)");
    if (::getppid() != parent)
        ::_exit(static_cast<int>(ExitStatus::Failure));
    const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    redirect(nothing.get(), STDIN_FILENO);
    redirect(out.get(), STDOUT_FILENO);
    redirect(err.get(), STDERR_FILENO);
}

/** A child that has not been waited for, so that its number is its own. */
struct Held {
    pid_t pid;
    UniqueFd fd;
    UniqueFd signals; ///< what asks this process to end
};

/** @return whether the child has ended before `end` */
bool ends_before(Clock::time_point end, const Held &child)
{
    for (;;) {
        const milliseconds left = time_until(end);
        const timespec timeout{left.count() / 1000, left.count() % 1000 * 1'000'000};
        std::array<pollfd, 2> entries{{{child.fd.get(), POLLIN, 0}, {child.signals.get(), POLLIN, 0}}};
        const int ready = ::ppoll(entries.data(), entries.size(), &timeout, nullptr);
        if (ready < 0 && errno != EINTR)
            throw SystemError(errno, "cannot wait for a child (ppoll)");
        if (ready == 0 || (ready > 0 && entries[0].revents != 0))
            return ready > 0;
        if (const int number = take_end_signal(); number != 0)
            ::kill(child.pid, number);
    }
}

/** Kills it, and takes its rest away if there is only that left soon. */
void kill_child(const Held &child)
{
    constexpr milliseconds patience{100};
    ::kill(child.pid, SIGKILL);
    if (ends_before(Clock::now() + patience, child))
        ::waitpid(child.pid, nullptr, 0);
}

/** The exit code of a child that has ended. @throws Error if a signal has ended it */
int code_of(pid_t child)
{
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            throw SystemError(errno, "cannot wait for a child (waitpid)");
    }
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    throw Error(ErrorKind::Failure,
                "the process that did the work was ended by signal " + std::to_string(WTERMSIG(status)));
}

} // namespace

TimeLimit::TimeLimit(milliseconds limit) : limit_(limit), end_(Clock::now() + limit)
{
    end_by_signal_after(limit + undo_time);
}

void TimeLimit::extend(milliseconds by)
{
    limit_ += by;
    end_ += by;
    end_by_signal_after(time_until(end_) + undo_time);
}

std::string TimeLimit::gave_up() const
{
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit_);
    return "gave up after " + std::to_string(seconds.count()) + " s";
}

void TimeLimit::go_on_in_child(const std::string &stall) const
{
    const UniqueFd out = make_output();
    const UniqueFd err = make_output();
    end_by_signal_after(milliseconds(0)); // from here on this process looks at the time itself
    const pid_t self = ::getpid();
    int pidfd = -1;
    const auto child =
        static_cast<pid_t>(::syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, nullptr, &pidfd, nullptr, nullptr));
    if (child < 0)
        throw SystemError(errno, "cannot start a process (clone)");
    if (child == 0) {
        begin(self, out, err);
        // Later than the parent, who has something to say.
        end_by_signal_after(time_until(end_) + grace);
        return;
    }
    const Held held{child, UniqueFd(pidfd), watch_end_signals()};
    if (ends_before(end_ + undo_time, held)) {
        pass_on(out, err);
        ::_exit(code_of(child));
    }
    kill_child(held);
    pass_on(out, err);
    throw Error(ErrorKind::TimedOut, gave_up() + stall);
}

void Cancellation::check(const std::string &at) const
{
    check_end_signals(at);
    if (limit_ != nullptr && limit_->is_over())
        throw Cancelled(limit_->gave_up() + " while " + at, ErrorKind::TimedOut);
}

} // namespace ogh
