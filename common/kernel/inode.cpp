// SPDX-License-Identifier: Apache-2.0
#include "kernel/inode.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <linux/magic.h>
#include <linux/stat.h>

#include <array>
#include <cerrno>

#include "base/contains.h"
#include "base/error.h"

namespace ogh {

namespace {

/** By f_type of statfs(2). Where no header of the kernel's user API has a number, its source is named. */
constexpr std::array<std::uint32_t, 24> kernel_interfaces{
    PROC_SUPER_MAGIC, SYSFS_MAGIC,          CGROUP_SUPER_MAGIC,   CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,
    TRACEFS_MAGIC,    SECURITYFS_MAGIC,     SELINUX_MAGIC,        SMACK_MAGIC,         AAFS_MAGIC,
    BPF_FS_MAGIC,     EFIVARFS_MAGIC,       PSTOREFS_MAGIC,       DEVPTS_SUPER_MAGIC,  NSFS_MAGIC,
    BINFMTFS_MAGIC,   BINDERFS_SUPER_MAGIC, RDTGROUP_SUPER_MAGIC, XENFS_SUPER_MAGIC,
    0x19800202U, // mqueue, ipc/mqueue.c
    0x62656570U, // configfs, fs/configfs/mount.c
    0x65735543U, // fusectl, fs/fuse/control.c
    0x67596969U, // rpc_pipefs, net/sunrpc/rpc_pipe.c
    0x6E667364U, // nfsd, fs/nfsd/nfsctl.c
};

} // namespace

bool is_kernel_interface(int fd)
{
    struct statfs filesystem {};
    if (::fstatfs(fd, &filesystem) != 0)
        return true;
    const auto type = static_cast<std::uint32_t>(filesystem.f_type);
    return contains(kernel_interfaces, type);
}

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
