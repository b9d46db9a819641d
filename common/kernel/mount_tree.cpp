// SPDX-License-Identifier: Apache-2.0
#include "kernel/mount_tree.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <string>

#include "base/error.h"

namespace ogh {

namespace {

SystemError failure(const std::string &what)
{
    const int error = errno;
    if (error == ENOSYS || error == EPERM)
        return {error, what + ": refused by the kernel or a seccomp filter (Linux 5.12 is needed)",
                ErrorKind::BrokenHost};
    if (error == EMFILE || error == ENFILE)
        return {error, what + ": each directory takes one open file; raise LimitNOFILE of the engine",
                ErrorKind::BrokenHost};
    return {error, what};
}

SystemError cannot_map(const std::string &what)
{
    return {
        errno,
        "cannot map the owners in " + what +
            " into the container's user namespace (--idmap): a filesystem in it, or the kernel, cannot do it",
        ErrorKind::BrokenHost};
}

/** The attributes that this collection sets, as they are in effect: a source may be read-only by itself. */
unsigned long attributes_in_force(int fd, const std::string &what)
{
    struct statvfs filesystem {};
    if (::fstatvfs(fd, &filesystem) != 0)
        throw SystemError(errno, "cannot look at the mount of " + what);
    return filesystem.f_flag & (ST_RDONLY | ST_NOSUID | ST_NODEV);
}

} // namespace

MountTree::MountTree(int source, const MountAttributes &attributes, const std::string &what)
    : fd_(::open_tree(source, "",
                      (attributes.recursive ? AT_RECURSIVE : 0U) | AT_EMPTY_PATH | OPEN_TREE_CLONE |
                          OPEN_TREE_CLOEXEC))
{
    if (!fd_.valid())
        throw failure("cannot copy the mount of " + what + " (open_tree)");
    mount_attr attr{};
    attr.attr_set = MOUNT_ATTR_NOSUID | attributes.further;
    // NOATIME is one of several values of the same bits; the kernel wants them cleared first.
    if ((attributes.further & MOUNT_ATTR_NOATIME) != 0)
        attr.attr_clr = MOUNT_ATTR__ATIME;
    if (!attributes.has_nodes)
        attr.attr_set |= MOUNT_ATTR_NODEV;
    if (attributes.read_only)
        attr.attr_set |= MOUNT_ATTR_RDONLY;
    if (attributes.idmap >= 0) {
        attr.attr_set |= MOUNT_ATTR_IDMAP;
        attr.userns_fd = static_cast<unsigned>(attributes.idmap);
    }
    attr.propagation = MS_PRIVATE;
    if (::mount_setattr(fd_.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr) != 0)
        throw attributes.idmap >= 0
            ? cannot_map(what)
            : failure("cannot set the mount attributes of " + what + " (mount_setattr)");
}

void MountTree::attach(int target, const std::string &what) const
{
    if (::move_mount(fd_.get(), "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
        throw failure("cannot mount " + what + " (move_mount)");
}

void MountTree::detach(const ProcFs &proc) const noexcept
{
    proc.unmount(fd_.get());
}

bool MountTree::looks_like(int place, const std::string &what) const
{
    return attributes_in_force(place, what) == attributes_in_force(fd_.get(), what);
}

} // namespace ogh
