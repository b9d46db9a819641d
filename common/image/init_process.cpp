// SPDX-License-Identifier: Apache-2.0
#include "image/init_process.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>
#include <linux/capability.h>

#include <cerrno>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "kernel/inode.h"
#include "kernel/pidfd.h"
#include "kernel/process.h"

namespace ogh {

namespace {

Error gone()
{
    return {ErrorKind::Failure, "the container's init process has ended"};
}

UniqueFd open_rootfs(const std::string &rootfs)
{
    return UniqueFd(::open(rootfs.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

} // namespace

void check_stage(pid_t pid)
{
    if (pid < 2)
        throw Error(ErrorKind::Failure, "the state names no init process to enter (pid " +
                                            std::to_string(pid) +
                                            "); this hook belongs at the stage createRuntime");
}

InitProcess::InitProcess(pid_t pid)
{
    check_stage(pid);
    require_capabilities({CAP_SYS_ADMIN, CAP_SYS_CHROOT, CAP_SYS_PTRACE}, "entering the container");
    auto pidfd = open_pidfd(pid);
    if (!pidfd)
        throw gone();
    pidfd_ = std::move(*pidfd);
    look_at([&] {
        if (shares_namespace(pid, "mnt"))
            throw Error(ErrorKind::Failure, "the process " + std::to_string(pid) +
                                                " that the state names is in the "
                                                "host's mount namespace; nothing is mounted there");
        user_namespace_ = user_namespace_of(pid);
    });
}

void InitProcess::look_at(const std::function<void()> &look) const
{
    constexpr int until_ended_ms = 100;
    try {
        look();
    } catch (const Error &) {
        // A process that ends has lost its namespaces already when the kernel says so.
        if (has_ended(pidfd_.get(), until_ended_ms))
            throw gone();
        throw;
    }
    // Alive now means that the number was its own when it was looked at.
    if (has_ended(pidfd_.get()))
        throw gone();
}

EnteredRoot InitProcess::enter(const std::string &rootfs) &&
{
    const UniqueFd outside = open_rootfs(rootfs);
    if (!outside.valid())
        throw SystemError(errno, "cannot look at the container's root " + quote(rootfs));
    if (::setns(pidfd_.get(), CLONE_NEWNS) != 0) {
        if (errno == ESRCH)
            throw gone();
        throw SystemError(errno, "cannot enter the container's mount namespace (setns)");
    }
    std::vector<unsigned> no_longer{CAP_SYS_CHROOT, CAP_SYS_PTRACE};
    if (!user_namespace_)
        no_longer.insert(no_longer.end(), {CAP_SETUID, CAP_SETGID, CAP_CHOWN});
    drop_capabilities(no_longer);
    UniqueFd inside = open_rootfs(rootfs);
    const std::string what = "the container's root";
    if (!inside.valid() || !Inode::of(outside.get(), what).same_file(Inode::of(inside.get(), what)))
        throw not_at(rootfs);
    return EnteredRoot(std::move(inside));
}

Error not_at(const std::string &rootfs)
{
    return {ErrorKind::Failure, "the container's root is not at " + quote(rootfs) +
                                    " in its mount namespace, so it has pivoted already; this hook "
                                    "belongs at the stage createRuntime"};
}

} // namespace ogh
