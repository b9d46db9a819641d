// SPDX-License-Identifier: Apache-2.0
#include "kernel/mount_table.h"

#include <fcntl.h>
#include <libmount.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace ogh {

namespace {

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

libmnt_fs *find_id(libmnt_table *table, std::uint64_t mount_id)
{
    return find_entry(table, [&](libmnt_fs *entry) {
        return static_cast<std::uint64_t>(mnt_fs_get_id(entry)) == mount_id;
    });
}

std::string text(const char *value)
{
    return value == nullptr ? std::string() : value;
}

/** Whether a mount shows the hierarchy of version 1 with `controller`, or version 2 for "". */
bool shows_cgroups(libmnt_fs *entry, const std::string &controller)
{
    const std::string type = text(mnt_fs_get_fstype(entry));
    if (controller.empty())
        return type == "cgroup2";
    const std::vector<std::string> options = split_list(text(mnt_fs_get_fs_options(entry)));
    return type == "cgroup" && contains(options, controller);
}

} // namespace

void MountTable::Release::operator()(libmnt_table *table) const
{
    mnt_unref_table(table);
}

MountTable::MountTable(int mountinfo) : table_(mnt_new_table())
{
    UniqueFd copy(::fcntl(mountinfo, F_DUPFD_CLOEXEC, 0));
    if (!copy.valid() || ::lseek(copy.get(), 0, SEEK_SET) != 0)
        throw SystemError(errno, "cannot read the mount table");
    std::array<char, 16384> buffer{}; // outlives the stream
    const std::unique_ptr<std::FILE, CloseFile> stream(::fdopen(copy.get(), "re"));
    if (stream == nullptr || table_ == nullptr)
        throw SystemError(errno, "cannot read the mount table");
    [[maybe_unused]] const int owned_by_stream = copy.release();
    // The kernel goes through all mounts before the place where a read begins, and proposes 1,024 bytes.
    std::setvbuf(stream.get(), buffer.data(), _IOFBF, buffer.size());
    mnt_table_set_parser_errcb(table_.get(), fail_on_any_line);
    // libmount looks for a thread's number in the name, and follows its symlinks; "/" has neither.
    if (mnt_table_parse_stream(table_.get(), stream.get(), "/") != 0)
        throw Error(ErrorKind::BrokenHost, "cannot understand the mount table (/proc/self/mountinfo)");
}

bool MountTable::has_device(dev_t device) const
{
    return find_entry(table_.get(), [&](libmnt_fs *entry) { return mnt_fs_get_devno(entry) == device; }) !=
           nullptr;
}

std::optional<dev_t> MountTable::device_of(std::uint64_t mount_id) const
{
    libmnt_fs *entry = find_id(table_.get(), mount_id);
    return entry == nullptr ? std::nullopt : std::optional(mnt_fs_get_devno(entry));
}

std::string MountTable::type_of(std::uint64_t mount_id) const
{
    libmnt_fs *entry = find_id(table_.get(), mount_id);
    return entry == nullptr ? std::string() : text(mnt_fs_get_fstype(entry));
}

bool MountTable::is_shared(std::uint64_t mount_id) const
{
    libmnt_fs *entry = find_id(table_.get(), mount_id);
    unsigned long propagation = 0;
    if (entry == nullptr || mnt_fs_get_propagation(entry, &propagation) != 0)
        return true;
    return (propagation & MS_SHARED) != 0;
}

bool MountTable::is_read_only(std::uint64_t mount_id) const
{
    libmnt_fs *entry = find_id(table_.get(), mount_id);
    const auto has_word = [](const char *options) {
        const std::vector<std::string> words = split_list(text(options));
        return contains(words, "ro");
    };
    return entry != nullptr &&
           (has_word(mnt_fs_get_vfs_options(entry)) || has_word(mnt_fs_get_fs_options(entry)));
}

std::vector<std::uint64_t> MountTable::ids_of_source(const std::string &source) const
{
    std::vector<std::uint64_t> ids;
    find_entry(table_.get(), [&](libmnt_fs *entry) {
        const char *name = mnt_fs_get_source(entry);
        if (name != nullptr && name == source)
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
        std::string type = text(mnt_fs_get_fstype(entry));
        if (matches(type))
            mounts.push_back({text(mnt_fs_get_target(entry)), std::move(type)});
        return false;
    });
    return mounts;
}

std::string MountTable::mount_point(std::uint64_t mount_id) const
{
    libmnt_fs *entry = find_id(table_.get(), mount_id);
    return entry == nullptr ? std::string() : text(mnt_fs_get_target(entry));
}

std::vector<CgroupMount> MountTable::cgroup_mounts(const std::string &controller) const
{
    std::vector<CgroupMount> mounts;
    find_entry(
        table_.get(),
        [&](libmnt_fs *entry) {
            if (shows_cgroups(entry, controller))
                mounts.push_back({text(mnt_fs_get_root(entry)), text(mnt_fs_get_target(entry))});
            return false;
        },
        MNT_ITER_BACKWARD);
    return mounts;
}

} // namespace ogh
