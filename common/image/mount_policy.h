// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "image/root_fs.h"
#include "kernel/inode.h"
#include "kernel/mount_table.h"
#include "kernel/proc_fs.h"

namespace ogh {

/** A mount in a container. */
struct InnerMount {
    std::uint64_t id;
    std::string path; ///< as the container names it
};

/**
 * Tells on which mounts of a container something may be made or mounted. A walk inside the root leads into
 * volumes: what is made there is made on the host, and what is mounted on a shared mount appears there.
 * Things are made on the root's own mount, or on a tmpfs or ramfs that the host does not have. No other filesystem is
 * the container's own merely because the host lacks it: what is made in an mqueue is a message queue of whoever shares
 * it, an overlay writes to its upper directory, and a directory in a tracefs is an instance of the tracer.
 *
 * It is made on the host, and may be asked before and after entering.
 */
class MountPolicy final {
public:
    /**
     * @param pid of the container's init
     * @param rootfs the container's root on the host; messages name mounts below it as the container does
     * @throws SystemError (BrokenHost)
     */
    MountPolicy(const ProcFs &proc, pid_t pid, std::string rootfs);

    /** The mounts of the namespace that this process is in when it makes this. */
    [[nodiscard]] const MountTable &on_host() const { return host_; }

    /** The mounts of the container's namespace, those that it took over from the host included. */
    [[nodiscard]] const MountTable &inside() const { return inside_; }

    /** Whether it is the container's alone: on the root's own mount, or as is_on_own_memory(). */
    bool is_own(const Inode &inode, const Inode &root);

    /** Why nothing may be made in `directory` (in a volume, shared, on a read-only filesystem); "" if it may. */
    std::string why_not_make(const Inode &directory, const Inode &root);

    /** The same for the directory `path` of the container; where it does not exist, for the one it would be made in. */
    std::string why_not_make(const std::string &path, const RootFs &root);

    /** Why nothing may be mounted on `target`: the mount would appear elsewhere too; "" if it may. */
    std::string mount_obstacle(const Inode &target);

    /** Whether it lies on a tmpfs or ramfs that the host's mount namespace does not have. */
    bool is_on_own_memory(const Inode &inode);

    /** Whether it lies on a mount whose source in the mount table is `source`. */
    bool is_on(const std::string &source, const Inode &inode);

    /** The mounts below the container's root whose source in the mount table is `source`. */
    std::vector<InnerMount> mounts_of(const std::string &source, const Inode &root);

private:
    bool is_on_host(const Inode &inode);
    std::string mount_point(const Inode &inode);

    std::string rootfs_;
    MountTable host_;
    MountTable inside_; ///< as of before this process mounts anything
};

} // namespace ogh
