// SPDX-License-Identifier: Apache-2.0
#include "kernel/private_tmpfs.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/error.h"
#include "kernel/tmpfs.h"

namespace ogh {

namespace {

void check_place(bool done, const char *what)
{
    if (!done)
        throw SystemError(errno, std::string("cannot make a private place for mounts (") + what + ")");
}

} // namespace

PrivateTmpfs::PrivateTmpfs(const std::string &label)
{
    check_place(::unshare(CLONE_NEWNS) == 0, "unshare");
    mount_attr attr{};
    attr.propagation = MS_PRIVATE;
    check_place(::mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof attr) == 0, "mount_setattr");
    fd_ = make_tmpfs({.label = label});
    // /proc is there on every host, and not looked at again by path. On `/` this process would count as chrooted,
    // and may then make no user namespace.
    check_place(::move_mount(fd_.get(), "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) == 0, "move_mount");
}

UniqueFd PrivateTmpfs::make(const std::string &name, Kind kind) const
{
    const int made = kind == Kind::Directory ? ::mkdirat(fd_.get(), name.c_str(), 0755)
                                             : ::mknodat(fd_.get(), name.c_str(), S_IFREG | 0644, 0);
    check_place(made == 0, "mkdir");
    UniqueFd opened(::openat(fd_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    check_place(opened.valid(), "open");
    return opened;
}

} // namespace ogh
