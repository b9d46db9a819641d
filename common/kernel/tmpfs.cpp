// SPDX-License-Identifier: Apache-2.0
#include "kernel/tmpfs.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>

#include <cerrno>

#include "base/error.h"

namespace ogh {

namespace {

void check_place(bool done, const char *what)
{
    if (!done)
        throw SystemError(errno, std::string("cannot make a private place for mounts (") + what + ")");
}

void check_tmpfs(bool done, const std::string &what)
{
    if (!done)
        throw SystemError(errno, "cannot make a tmpfs (" + what + ")");
}

void set(const UniqueFd &context, const char *key, const char *value)
{
    check_tmpfs(::fsconfig(context.get(), FSCONFIG_SET_STRING, key, value, 0) == 0,
                std::string("fsconfig ") + key);
}

/** Elsewhere the kernel refuses the option. */
bool has_selinux()
{
    struct statfs filesystem {};
    return ::statfs("/sys/fs/selinux", &filesystem) == 0 && filesystem.f_type == SELINUX_MAGIC;
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

UniqueFd make_tmpfs(const TmpfsOptions &options)
{
    const UniqueFd context(::fsopen("tmpfs", FSOPEN_CLOEXEC));
    check_tmpfs(context.valid(), "fsopen");
    set(context, "mode", "0755");
    if (options.source != nullptr)
        set(context, "source", options.source);
    if (!options.label.empty() && has_selinux())
        set(context, "context", options.label.c_str());
    check_tmpfs(::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0, "fsconfig");
    UniqueFd root(::fsmount(context.get(), FSMOUNT_CLOEXEC, options.attributes));
    check_tmpfs(root.valid(), "fsmount");
    return root;
}

bool is_on_tmpfs(int fd)
{
    struct statfs filesystem {};
    return ::fstatfs(fd, &filesystem) == 0 && filesystem.f_type == TMPFS_MAGIC;
}

} // namespace ogh
