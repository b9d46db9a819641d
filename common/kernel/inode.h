// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace ogh {

/**
 * Whether what is open (O_PATH will do) lies on a filesystem whose files are no data but the kernel's words, or its
 * switches: procfs, sysfs, control groups and their like. Also true where the kernel does not tell.
 */
bool is_kernel_interface(int fd);

/** What is mounted, and what it is mounted on; a socket is mounted on a file. */
enum class Kind { Directory, File, Socket };

/** What statx(2) tells of an open inode, as far as the rules for mount targets need it. */
struct Inode {
    dev_t device = 0;
    ino_t number = 0;
    std::uint64_t mount_id = 0;
    std::uint64_t size = 0; ///< in bytes
    dev_t node = 0;         ///< number of a device node
    mode_t mode = 0;
    uid_t uid = 0;
    gid_t gid = 0;
    bool mount_root = false;
    bool deleted = false;

    /** @throws SystemError; `what` names it */
    static Inode of(int fd, const std::string &what);

    [[nodiscard]] bool is(Kind kind) const;
    [[nodiscard]] bool same_file(const Inode &other) const;

    /** Whether it is the node of that device. @param type S_IFCHR or S_IFBLK; or S_IFIFO, which has no number */
    [[nodiscard]] bool is_node(mode_t type, dev_t device_number) const;
};

} // namespace ogh
