// SPDX-License-Identifier: Apache-2.0
#include "kernel/served_mounts.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"

namespace ogh {

namespace {

/**
 * Types that the kernel serves by itself, from memory or from a disk. autofs is among them although a daemon answers:
 * most hosts have one (systemd's for binfmt_misc), and a signal ends that wait (fs/autofs/waitq.c). In the order of bytes.
 */
constexpr auto own_types = std::to_array<std::string_view>(
    {"autofs",   "bcachefs",  "binder",     "binfmt_misc", "bpf",       "btrfs",   "cgroup",
     "cgroup2",  "configfs",  "cpuset",     "cramfs",      "debugfs",   "devpts",  "devtmpfs",
     "efivarfs", "erofs",     "exfat",      "ext2",        "ext3",      "ext4",    "f2fs",
     "fusectl",  "hugetlbfs", "iso9660",    "jfs",         "mqueue",    "nfsd",    "nilfs2",
     "nsfs",     "ntfs3",     "overlay",    "proc",        "pstore",    "ramfs",   "reiserfs",
     "resctrl",  "rootfs",    "rpc_pipefs", "securityfs",  "selinuxfs", "smackfs", "squashfs",
     "sysfs",    "tmpfs",     "tracefs",    "udf",         "vfat",      "xfs",     "zfs"});

static_assert(std::is_sorted(own_types.begin(), own_types.end()));

} // namespace

std::vector<TypedMount> served_mounts(const MountTable &table)
{
    return table.mounts_of_type([](const std::string &type) {
        return !std::binary_search(own_types.begin(), own_types.end(), std::string_view(type));
    });
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
