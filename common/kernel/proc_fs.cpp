// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc_fs.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <linux/magic.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/error.h"

namespace ogh {

ProcFs::ProcFs() : fd_(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC))
{
    struct statfs filesystem {};
    if (!fd_.valid() || ::fstatfs(fd_.get(), &filesystem) != 0 || filesystem.f_type != PROC_SUPER_MAGIC)
        throw Error(ErrorKind::BrokenHost, "/proc of the host is no procfs");
    descriptors_ = UniqueFd(::openat(fd_.get(), "self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!descriptors_.valid())
        throw SystemError(errno, "cannot open /proc/self/fd", ErrorKind::BrokenHost);
}

UniqueFd ProcFs::open_self(const std::string &name) const
{
    return open_file("self/" + name);
}

UniqueFd ProcFs::open_of(pid_t pid, const std::string &name) const
{
    return open_file(std::to_string(pid) + "/" + name);
}

UniqueFd ProcFs::open_root_of(pid_t pid) const
{
    const std::string path = std::to_string(pid) + "/root";
    UniqueFd fd(::openat(fd_.get(), path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid())
        throw SystemError(errno, "cannot open /proc/" + path);
    return fd;
}

UniqueFd ProcFs::open_file(const std::string &path) const
{
    UniqueFd fd(::openat(fd_.get(), path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid())
        throw SystemError(errno, "cannot open /proc/" + path, ErrorKind::BrokenHost);
    return fd;
}

UniqueFd ProcFs::reopen(int fd, int flags, const std::string &what) const
{
    const std::string link = std::to_string(fd);
    UniqueFd opened(::openat(descriptors_.get(), link.c_str(), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!opened.valid())
        throw SystemError(errno, "cannot open " + what);
    return opened;
}

void ProcFs::unmount(int mount) const noexcept
{
    // umount2 takes no descriptor, and follows whatever is at a path of that name: so it starts at the host's /proc.
    std::array<char, 16> name{};
    std::snprintf(name.data(), name.size(), "%d", mount);
    if (::fchdir(descriptors_.get()) != 0)
        return;
    ::umount2(name.data(), MNT_DETACH);
    [[maybe_unused]] const int back = ::chdir("/");
}

} // namespace ogh
