// SPDX-License-Identifier: Apache-2.0
#include "kernel/inode.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <linux/stat.h>

#include <cerrno>

#include "base/error.h"

namespace ogh {

Inode Inode::of(int fd, const std::string &what)
{
    struct statx status {};
    const unsigned wanted =
        STATX_TYPE | STATX_MODE | STATX_UID | STATX_GID | STATX_INO | STATX_NLINK | STATX_SIZE | STATX_MNT_ID;
    if (::statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, wanted, &status) != 0)
        throw SystemError(errno, "cannot look at " + what);
    if ((status.stx_mask & wanted) != wanted || (status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0)
        throw Error(ErrorKind::BrokenHost, "the kernel does not tell mount ids (Linux 5.12 is needed)");
    Inode inode;
    inode.device = makedev(status.stx_dev_major, status.stx_dev_minor);
    inode.number = status.stx_ino;
    inode.mount_id = status.stx_mnt_id;
    inode.size = status.stx_size;
    inode.node = makedev(status.stx_rdev_major, status.stx_rdev_minor);
    inode.mode = status.stx_mode;
    inode.uid = status.stx_uid;
    inode.gid = status.stx_gid;
    inode.mount_root = (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    inode.deleted = status.stx_nlink == 0;
    return inode;
}

bool Inode::is(Kind kind) const
{
    switch (kind) {
    case Kind::Directory:
        return S_ISDIR(mode);
    case Kind::File:
        return S_ISREG(mode);
    case Kind::Socket:
        return S_ISSOCK(mode);
    }
    return false;
}

bool Inode::same_file(const Inode &other) const
{
    return device == other.device && number == other.number;
}

bool Inode::is_node(mode_t type, dev_t device_number) const
{
    return (mode & S_IFMT) == type && (S_ISFIFO(type) || node == device_number);
}

} // namespace ogh
