// SPDX-License-Identifier: Apache-2.0
#include "kernel/mount_table.h"

#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/device_number.h"
#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "base/text.h"

namespace ogh {

namespace {

/** The kernel goes through all mounts before the place where a read begins: few reads. */
constexpr size_t first_read = 8192;
constexpr size_t max_size = size_t{64} << 20U;

/** A line that is left out could be the very mount that is asked about. */
Error not_understood()
{
    return {ErrorKind::BrokenHost, "cannot understand the mount table (/proc/self/mountinfo)"};
}

/** A field may be empty. */
std::string_view next_field(std::string_view &line)
{
    return next_part(line, ' ');
}

/** The kernel writes blanks, backslashes and the like as a backslash and three octal digits. */
std::string unescaped(std::string_view field)
{
    constexpr size_t digits = 3;
    std::string text;
    for (size_t at = 0; (at = field.find('\\')) != std::string_view::npos;) {
        text += field.substr(0, at);
        field.remove_prefix(at + 1);
        const auto byte = parse_number(field.substr(0, digits), 8);
        text += byte ? static_cast<char>(*byte) : '\\';
        field.remove_prefix(byte ? std::min(digits, field.size()) : 0);
    }
    return text += field;
}

/** Without what seq_path() writes behind a mount point that has been removed. */
std::string unescaped_point(std::string_view field)
{
    constexpr std::string_view removed = "//deleted";
    return unescaped(field.substr(0, field.size() - (field.ends_with(removed) ? removed.size() : 0)));
}

bool has_word(std::string_view options, std::string_view word)
{
    while (!options.empty()) {
        if (next_part(options, ',') == word)
            return true;
    }
    return false;
}

} // namespace

MountTable::Entry MountTable::read_entry(std::string_view line)
{
    Entry entry;
    const auto id = parse_number(next_field(line));
    next_field(line); // the parent's
    const auto device = parse_device_number(next_field(line));
    entry.root = next_field(line);
    entry.point = next_field(line);
    entry.options = next_field(line);
    std::string_view field = next_field(line);
    for (; !field.empty() && field != "-"; field = next_field(line))
        entry.is_shared = entry.is_shared || field.starts_with("shared:");
    entry.type = next_field(line);
    entry.source = next_field(line);
    entry.filesystem_options = next_field(line);
    if (!id || !device || field != "-" || entry.type.empty())
        throw not_understood();
    entry.id = *id;
    entry.device = makedev(device->major, device->minor);
    return entry;
}

std::string read_mountinfo(int mountinfo)
{
    if (::lseek(mountinfo, 0, SEEK_SET) != 0)
        throw SystemError(errno, "cannot read the mount table");
    return read_all(mountinfo, max_size, "the mount table", first_read);
}

MountTable::MountTable(int mountinfo) : text_(std::make_unique<const std::string>(read_mountinfo(mountinfo)))
{
    for (std::string_view rest = *text_; !rest.empty();)
        entries_.push_back(read_entry(next_part(rest, '\n')));
}

const MountTable::Entry *MountTable::find(std::uint64_t mount_id) const
{
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry &entry) { return entry.id == mount_id; });
    return found == entries_.end() ? nullptr : &*found;
}

bool MountTable::has_device(dev_t device) const
{
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const Entry &entry) { return entry.device == device; });
}

std::optional<dev_t> MountTable::device_of(std::uint64_t mount_id) const
{
    const Entry *const entry = find(mount_id);
    return entry == nullptr ? std::nullopt : std::optional(entry->device);
}

std::string MountTable::type_of(std::uint64_t mount_id) const
{
    const Entry *const entry = find(mount_id);
    return entry == nullptr ? std::string() : unescaped(entry->type);
}

bool MountTable::is_shared(std::uint64_t mount_id) const
{
    const Entry *const entry = find(mount_id);
    return entry == nullptr || entry->is_shared;
}

bool MountTable::is_read_only(std::uint64_t mount_id) const
{
    const Entry *const entry = find(mount_id);
    return entry != nullptr && (has_word(entry->options, "ro") || has_word(entry->filesystem_options, "ro"));
}

std::vector<std::uint64_t> MountTable::ids_of_source(const std::string &source) const
{
    std::vector<std::uint64_t> ids;
    for (const Entry &entry : entries_)
        if (unescaped(entry.source) == source)
            ids.push_back(entry.id);
    return ids;
}

std::vector<TypedMount>
MountTable::mounts_of_type(const std::function<bool(const std::string &type)> &matches) const
{
    std::vector<TypedMount> mounts;
    for (const Entry &entry : entries_)
        if (const std::string type = unescaped(entry.type); matches(type))
            mounts.push_back({unescaped_point(entry.point), type});
    return mounts;
}

std::string MountTable::mount_point(std::uint64_t mount_id) const
{
    const Entry *const entry = find(mount_id);
    return entry == nullptr ? std::string() : unescaped_point(entry->point);
}

std::vector<CgroupMount> MountTable::cgroup_mounts(const std::string &controller) const
{
    std::vector<CgroupMount> mounts;
    for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
        const bool shows = controller.empty()
                               ? entry->type == "cgroup2"
                               : entry->type == "cgroup" && has_word(entry->filesystem_options, controller);
        if (shows)
            mounts.push_back({unescaped(entry->root), unescaped_point(entry->point)});
    }
    return mounts;
}

} // namespace ogh
