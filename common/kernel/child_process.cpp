// SPDX-License-Identifier: Apache-2.0
#include "kernel/child_process.h"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/error.h"

namespace ogh {

namespace {

/** Nothing may get past the child's end: what comes after is its parent's work. */
int in_child(const std::function<int()> &work) noexcept
{
    return work();
}

} // namespace

std::optional<int> run_in_child(const std::string &what, const std::function<int()> &work)
{
    const long child = ::syscall(SYS_clone, CLONE_FILES | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    if (child < 0)
        throw SystemError(errno, what + " (clone)");
    if (child == 0)
        ::_exit(in_child(work));
    int status = 0;
    while (::waitpid(static_cast<pid_t>(child), &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? std::optional(WEXITSTATUS(status)) : std::nullopt;
}

} // namespace ogh
