// SPDX-License-Identifier: Apache-2.0
#include "kernel/filesystem_type.h"

#include <sys/vfs.h>
#include <linux/magic.h>

#include <array>
#include <cstdint>

#include "base/contains.h"

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

} // namespace ogh
