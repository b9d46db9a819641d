// SPDX-License-Identifier: Apache-2.0
#include "kernel/pidfd.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace ogh {

std::optional<UniqueFd> open_pidfd(pid_t pid)
{
    UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (fd.valid())
        return fd;
    if (errno == ESRCH || errno == EINVAL || errno == ENOENT) // of another thread: EINVAL, since 6.15 ENOENT
        return std::nullopt;
    throw SystemError(errno, "cannot hold the process " + std::to_string(pid) + " (pidfd_open)",
                      ErrorKind::BrokenHost);
}

bool has_ended(int pidfd, int wait_ms)
{
    pollfd entry{pidfd, POLLIN, 0};
    const int ready = ::poll(&entry, 1, wait_ms);
    if (ready < 0 && errno != EINTR)
        throw SystemError(errno, "cannot see whether a process has ended (poll)");
    return ready > 0;
}

} // namespace ogh
