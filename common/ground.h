// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "mount_table.h"
#include "root.h"
#include "unique_fd.h"

namespace ogh {

/**
 * Tells on which mounts of a container something may be made or mounted. A walk inside the root leads into
 * volumes: what is made there is made on the host, and what is mounted on a shared mount appears there.
 * Things are made on the root's own mount, or on a filesystem that the host does not have.
 *
 * Construct it on the host, use it after entering.
 */
class Ground final {
public:
    /**
     * @param rootfs the container's root on the host; messages name mounts below it as the container does
     * @throws Error (Host) if /proc is not procfs
     */
    explicit Ground(std::string rootfs);

    /** Why nothing may be made in `folder`: it is in a volume, or shared; "" if it may. */
    std::string why_not_make_in(const Inode &folder, const Inode &root);

    /** Why nothing may be mounted on `target`: the mount would appear elsewhere too; "" if it may. */
    std::string why_not_mount_on(const Inode &target);

private:
    const MountTable &inside();
    bool is_on_host(const Inode &inode);
    std::string mount_point(const Inode &inode);

    std::string rootfs_;
    UniqueFd proc_;
    UniqueFd host_mountinfo_;
    std::optional<MountTable> inside_; ///< read once, before this process mounts anything
    std::map<std::uint64_t, bool> shared_;
};

} // namespace ogh
