// SPDX-License-Identifier: Apache-2.0
#include "kernel/mount_table.h"

#include <libmount.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>

#include "base/contains.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace ogh {

namespace {

constexpr size_t max_size = size_t{64} << 20U;

struct CloseFile {
    void operator()(std::FILE *file) const { std::fclose(file); }
};

struct ReleaseIterator {
    void operator()(libmnt_iter *iterator) const { mnt_free_iter(iterator); }
};

/** The first entry for which `matches` holds, nullptr if there is none; the table keeps it. */
template<typename Match>
libmnt_fs *find_entry(libmnt_table *table, const Match &matches, int direction = MNT_ITER_FORWARD)
{
    const std::unique_ptr<libmnt_iter, ReleaseIterator> iterator(mnt_new_iter(direction));
    libmnt_fs *entry = nullptr;
    while (iterator && mnt_table_next_fs(table, iterator.get(), &entry) == 0) {
        if (matches(entry))
            return entry;
    }
    return nullptr;
}

/** A line that libmount would leave out could be the very mount that is asked about. */
int fail_on_any_line(libmnt_table * /*table*/, const char * /*name*/, int /*line*/)
{
    return -EINVAL;
}

std::string text(const char *value)
{
    return value == nullptr ? std::string() : value;
}

/** Without what the kernel's seq_path() writes behind a mount point that has been removed. */
std::string point_of(libmnt_fs *entry)
{
    constexpr std::string_view removed = "//deleted";
    std::string point = text(mnt_fs_get_target(entry));
    if (point.ends_with(removed))
        point.resize(point.size() - removed.size());
    return point;
}

/** Filesystems that the kernel reads from a disk, of which libmount has no list; without fuseblk. */
constexpr auto disk_types = std::to_array<std::string_view>(
    {"bcachefs", "btrfs", "cramfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "iso9660", "jfs",
     "nilfs2", "ntfs3", "reiserfs", "squashfs", "udf", "vfat", "xfs", "zfs"});

/**
 * What has no source counts as a pseudo filesystem to libmount, some that a process or a hypervisor serves as well. autofs
 * is none of these although a daemon answers: most hosts have one (systemd's for binfmt_misc), and a signal ends that
 * wait (fs/autofs/waitq.c).
 */
bool may_hang(const std::string &type)
{
    if (type == "fuse" || type.starts_with("fuse.") || type == "vboxsf" || type == "virtiofs")
        return true;
    return mnt_fstype_is_pseudofs(type.c_str()) == 0 && !contains(disk_types, type);
}

} // namespace

void MountTable::Release::operator()(libmnt_table *table) const
{
    mnt_unref_table(table);
}

MountTable::MountTable(int mountinfo) : table_(mnt_new_table())
{
    if (::lseek(mountinfo, 0, SEEK_SET) != 0)
        throw SystemError(errno, "cannot read the mount table");
    std::string lines = read_all(mountinfo, max_size, "the mount table");
    const std::unique_ptr<std::FILE, CloseFile> stream(::fmemopen(lines.data(), lines.size(), "r"));
    if (stream == nullptr || table_ == nullptr)
        throw SystemError(errno, "cannot read the mount table");
    mnt_table_set_parser_errcb(table_.get(), fail_on_any_line);
    // libmount looks for a thread's number in the name, and follows its symlinks; "/" has neither.
    if (mnt_table_parse_stream(table_.get(), stream.get(), "/") != 0)
        throw Error(ErrorKind::BrokenHost, "cannot understand the mount table (/proc/self/mountinfo)");
}

bool MountTable::has_device(dev_t device) const
{
    return mnt_table_find_devno(table_.get(), device, MNT_ITER_FORWARD) != nullptr;
}

MountLine MountTable::find(std::uint64_t mount_id) const
{
    libmnt_fs *const entry = find_entry(table_.get(), [&](libmnt_fs *each) {
        return static_cast<std::uint64_t>(mnt_fs_get_id(each)) == mount_id;
    });
    if (entry == nullptr)
        return {};
    unsigned long propagation = 0;
    const bool is_shared = mnt_fs_get_propagation(entry, &propagation) != 0 || (propagation & MS_SHARED) != 0;
    // Of the two lists of options libmount makes one, which has "ro" where one of them has it.
    return {true,
            mnt_fs_get_devno(entry),
            text(mnt_fs_get_fstype(entry)),
            point_of(entry),
            is_shared,
            mnt_fs_match_options(entry, "ro") != 0};
}

std::vector<std::uint64_t> MountTable::ids_of_source(const std::string &source) const
{
    std::vector<std::uint64_t> ids;
    find_entry(table_.get(), [&](libmnt_fs *entry) {
        if (text(mnt_fs_get_source(entry)) == source)
            ids.push_back(static_cast<std::uint64_t>(mnt_fs_get_id(entry)));
        return false;
    });
    return ids;
}

std::vector<TypedMount> MountTable::mounts_that_may_hang() const
{
    std::vector<TypedMount> mounts;
    find_entry(table_.get(), [&](libmnt_fs *entry) {
        if (std::string type = text(mnt_fs_get_fstype(entry)); may_hang(type))
            mounts.push_back({point_of(entry), std::move(type)});
        return false;
    });
    return mounts;
}

std::vector<CgroupMount> MountTable::cgroup_mounts(const std::string &controller) const
{
    std::vector<CgroupMount> mounts;
    const auto add = [&](libmnt_fs *entry) {
        const bool shows = controller.empty()
                               ? mnt_fs_match_fstype(entry, "cgroup2") != 0
                               : mnt_fs_match_fstype(entry, "cgroup") != 0 &&
                                     mnt_fs_match_options(entry, ("+" + controller).c_str()) != 0;
        if (shows)
            mounts.push_back({text(mnt_fs_get_root(entry)), point_of(entry)});
        return false;
    };
    find_entry(table_.get(), add, MNT_ITER_BACKWARD);
    return mounts;
}

std::string blame(const std::vector<TypedMount> &mounts, const std::string &rootfs)
{
    constexpr size_t shown = 4;
    std::vector<std::string> inside;
    std::vector<std::string> all;
    for (const TypedMount &mount : mounts) {
        const bool is_inside = !rootfs.empty() && (mount.point + "/").starts_with(rootfs + "/");
        const std::string inner = is_inside ? mount.point.substr(rootfs.size()) : mount.point;
        all.push_back(quote(inner.empty() ? "/" : inner) + " (" + as_utf8(mount.type) + ")");
        if (is_inside)
            inside.push_back(all.back());
    }
    const std::vector<std::string> &names = inside.empty() ? all : inside;
    std::string listed;
    for (size_t i = 0; i < std::min(names.size(), shown); ++i)
        listed += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > shown)
        listed += ", and " + std::to_string(names.size() - shown) + " more";
    return "; mounts that another process or machine has to answer for: " + listed +
           ". See to those, or start the container without them";
}

} // namespace ogh
