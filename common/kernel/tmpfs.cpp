// SPDX-License-Identifier: Apache-2.0
#include "kernel/tmpfs.h"

#include <sys/mount.h>
#include <sys/vfs.h>
#include <linux/magic.h>

#include <cerrno>

#include "base/error.h"

namespace ogh {

namespace {

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
