// SPDX-License-Identifier: Apache-2.0
#include "stepped.h"

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/file.h"
#include "base/unique_fd.h"

namespace ogh::test {

namespace {

constexpr int call_stop = SIGTRAP | 0x80; // as PTRACE_O_TRACESYSGOOD has it

/** The number of the call at whose entry the process stands; -1 at its end. */
long entered_call(pid_t pid)
{
    __ptrace_syscall_info info{};
    check_call(::ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info), "ptrace");
    return info.op == PTRACE_SYSCALL_INFO_ENTRY ? static_cast<long>(info.entry.nr) : -1;
}

/** Lets the process run to its next stop. @return the status of waitpid(2) */
int next_stop(pid_t pid, int signal)
{
    int status = 0;
    if (::ptrace(PTRACE_SYSCALL, pid, 0, signal) < 0 && errno != ESRCH)
        fail("ptrace");
    check_call(::waitpid(pid, &status, 0), "waitpid");
    return status;
}

int step_through(pid_t pid, long from, const std::function<void(const Step &)> &before,
                 const std::function<void(const Step &)> &after)
{
    int status = 0;
    check_call(::waitpid(pid, &status, 0), "waitpid");
    check_call(::ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL), "ptrace");
    status = next_stop(pid, 0);
    Step step{-1, -1, pid};
    while (WIFSTOPPED(status)) {
        const bool at_call = WSTOPSIG(status) == call_stop;
        const long entered = at_call ? entered_call(pid) : -1;
        if (entered >= 0 && (step.index >= 0 || entered == from)) {
            step = {step.index + 1, entered, pid};
            before(step);
        } else if (at_call && step.index >= 0 && after) {
            after(step);
        }
        status = next_stop(pid, at_call ? 0 : WSTOPSIG(status));
    }
    return exit_code(status);
}

} // namespace

Outcome in_stepped_child(const Work &work, long from, const std::function<void(const Step &)> &before,
                         const std::function<void(const Step &)> &after)
{
    std::array<int, 2> ends{};
    check_call(::pipe2(ends.data(), O_CLOEXEC), "pipe2");
    const UniqueFd from_child(ends[0]);
    UniqueFd to(ends[1]);
    const pid_t pid = ::fork();
    check_call(pid, "fork");
    if (pid == 0) {
        ::dup2(to.get(), STDOUT_FILENO);
        ::ptrace(PTRACE_TRACEME, 0, 0, 0);
        ::raise(SIGSTOP);
        report(work);
    }
    to.reset();
    const int code = step_through(pid, from, before, after);
    return {code, read_all(from_child.get(), size_t{1} << 20U, "what a child says")};
}

} // namespace ogh::test
