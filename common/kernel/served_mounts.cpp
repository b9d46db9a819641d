// SPDX-License-Identifier: Apache-2.0
#include "kernel/served_mounts.h"

#include <libmount.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/contains.h"
#include "base/text.h"

namespace ogh {

namespace {

/** Filesystems that the kernel reads from a disk, of which libmount has no list; without fuseblk. */
constexpr auto disk_types = std::to_array<std::string_view>(
    {"bcachefs", "btrfs", "cramfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "iso9660", "jfs",
     "nilfs2", "ntfs3", "reiserfs", "squashfs", "udf", "vfat", "xfs", "zfs"});

/**
 * What has no source counts as a pseudo filesystem to libmount, some that a process or a hypervisor serves as well. autofs
 * is none of these although a daemon answers: most hosts have one (systemd's for binfmt_misc), and a signal ends that
 * wait (fs/autofs/waitq.c).
 */
bool is_served(const std::string &type)
{
    if (type == "fuse" || type.starts_with("fuse.") || type == "vboxsf" || type == "virtiofs")
        return true;
    return mnt_fstype_is_pseudofs(type.c_str()) == 0 && !contains(disk_types, type);
}

} // namespace

std::vector<TypedMount> served_mounts(const MountTable &table)
{
    return table.mounts_of_type(is_served);
}

std::string blame(const std::vector<TypedMount> &served, const std::string &rootfs)
{
    constexpr size_t shown = 4;
    std::vector<std::string> inside;
    std::vector<std::string> all;
    for (const TypedMount &mount : served) {
        const bool is_inside = !rootfs.empty() && (mount.point + "/").starts_with(rootfs + "/");
        const std::string inner = is_inside ? mount.point.substr(rootfs.size()) : mount.point;
        all.push_back(quote(inner.empty() ? "/" : inner) + " (" + as_utf8(mount.type) + ")");
        if (is_inside)
            inside.push_back(all.back());
    }
    const std::vector<std::string> &names = inside.empty() ? all : inside;
    std::string text;
    for (size_t i = 0; i < std::min(names.size(), shown); ++i)
        text += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > shown)
        text += ", and " + std::to_string(names.size() - shown) + " more";
    return "; mounts that another process or machine has to answer for: " + text +
           ". See to those, or start the container without them";
}

} // namespace ogh
