// SPDX-License-Identifier: Apache-2.0
#include "kernel/mount_table.h"

#include <libmount.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/error.h"
#include "base/file.h"

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

libmnt_fs *MountTable::find(std::uint64_t mount_id) const
{
    return find_entry(table_.get(), [&](libmnt_fs *entry) {
        return static_cast<std::uint64_t>(mnt_fs_get_id(entry)) == mount_id;
    });
}

bool MountTable::has_device(dev_t device) const
{
    return mnt_table_find_devno(table_.get(), device, MNT_ITER_FORWARD) != nullptr;
}

std::optional<dev_t> MountTable::device_of(std::uint64_t mount_id) const
{
    libmnt_fs *const entry = find(mount_id);
    return entry == nullptr ? std::nullopt : std::optional(mnt_fs_get_devno(entry));
}

std::string MountTable::type_of(std::uint64_t mount_id) const
{
    libmnt_fs *const entry = find(mount_id);
    return entry == nullptr ? std::string() : text(mnt_fs_get_fstype(entry));
}

bool MountTable::is_shared(std::uint64_t mount_id) const
{
    unsigned long propagation = 0;
    return mnt_fs_get_propagation(find(mount_id), &propagation) != 0 || (propagation & MS_SHARED) != 0;
}

bool MountTable::is_read_only(std::uint64_t mount_id) const
{
    // Of the two lists of options libmount makes one, which has "ro" where one of them has it.
    libmnt_fs *const entry = find(mount_id);
    return entry != nullptr && mnt_fs_match_options(entry, "ro") != 0;
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

std::vector<TypedMount>
MountTable::mounts_of_type(const std::function<bool(const std::string &type)> &matches) const
{
    std::vector<TypedMount> mounts;
    find_entry(table_.get(), [&](libmnt_fs *entry) {
        if (std::string type = text(mnt_fs_get_fstype(entry)); matches(type))
            mounts.push_back({point_of(entry), std::move(type)});
        return false;
    });
    return mounts;
}

std::string MountTable::mount_point(std::uint64_t mount_id) const
{
    libmnt_fs *const entry = find(mount_id);
    return entry == nullptr ? std::string() : point_of(entry);
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

} // namespace ogh
