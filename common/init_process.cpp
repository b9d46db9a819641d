// SPDX-License-Identifier: Apache-2.0
#include "init_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/capability.h>

#include <cerrno>

#include "error.h"
#include "process.h"
#include "text.h"

namespace ogh {

namespace {

Error gone()
{
    return {ExitCode::Failure, "the container's init process has ended"};
}

/** Readable means ended; a zombie counts as ended. */
bool has_ended(int pidfd)
{
    pollfd entry{pidfd, POLLIN, 0};
    return ::poll(&entry, 1, 0) != 0;
}

struct stat status_of(const std::string &path, const std::string &what)
{
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
        if (errno == ENOENT || errno == ESRCH)
            throw gone();
        throw SystemError(errno, "cannot look at " + what);
    }
    return status;
}

bool same_file(const struct stat &a, const struct stat &b)
{
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/** The folder's identity; without it nothing can be compared after entering. */
struct stat rootfs_status(const std::string &rootfs, const char *where)
{
    struct stat status {};
    if (::stat(rootfs.c_str(), &status) != 0)
        throw SystemError(errno, "cannot look at the container's root " + quote(rootfs) + where);
    return status;
}

} // namespace

InitProcess::InitProcess(pid_t pid)
{
    if (pid < 2)
        throw Error(ExitCode::Failure, "the state names no init process to enter (pid " +
                                           std::to_string(pid) +
                                           "); this hook belongs at the stage createRuntime");
    require_capabilities({CAP_SYS_ADMIN, CAP_SYS_CHROOT, CAP_SYS_PTRACE}, "entering the container");
    pidfd_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!pidfd_.valid() && errno == ESRCH)
        throw gone();
    if (!pidfd_.valid())
        throw SystemError(errno, "cannot hold the container's init process (pidfd_open)", ExitCode::Host);
    const struct stat theirs =
        status_of("/proc/" + std::to_string(pid) + "/ns/mnt", "init's mount namespace");
    const struct stat ours = status_of("/proc/self/ns/mnt", "this process's mount namespace");
    if (same_file(ours, theirs))
        throw Error(ExitCode::Failure, "the process " + std::to_string(pid) +
                                           " that the state names is in the "
                                           "host's mount namespace; nothing is mounted there");
    try {
        user_namespace_ = user_namespace_of(pid);
    } catch (const Error &) {
        if (has_ended(pidfd_.get()))
            throw gone();
        throw;
    }
    // Alive now means that the number was its own when the namespaces were looked at.
    if (has_ended(pidfd_.get()))
        throw gone();
}

void InitProcess::enter(const std::string &rootfs) const
{
    const struct stat outside = rootfs_status(rootfs, "");
    if (::setns(pidfd_.get(), CLONE_NEWNS) != 0) {
        if (errno == ESRCH)
            throw gone();
        throw SystemError(errno, "cannot enter the container's mount namespace (setns)");
    }
    drop_capabilities({CAP_SYS_CHROOT, CAP_SYS_PTRACE});
    if (!user_namespace_)
        drop_capabilities({CAP_SETUID, CAP_SETGID, CAP_CHOWN});
    struct stat inside {};
    if (::stat(rootfs.c_str(), &inside) != 0 || !same_file(outside, inside))
        throw Error(ExitCode::Failure, "the container's root is not at " + quote(rootfs) +
                                           " in its mount namespace, so it has pivoted already; this hook "
                                           "belongs at the stage createRuntime");
}

} // namespace ogh
