// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ogh {

/** A mount of a hierarchy of control groups. */
struct CgroupMount {
    std::string root;  ///< the cgroup that it shows, as /proc/PID/cgroup would name it
    std::string point; ///< where it is attached
};

/** A mount of a filesystem of some type. */
struct TypedMount {
    std::string point; ///< where it is attached
    std::string type;  ///< with the subtype, if it has one: "fuse.sshfs"

    bool operator==(const TypedMount &) const = default;
};

/**
 * A mount namespace's table of mounts, as of when it was read: show_mountinfo() in the kernel's
 * fs/proc_namespace.c, and proc_pid_mountinfo(5).
 */
class MountTable final {
public:
    /**
     * @param mountinfo an open /proc/PID/mountinfo; it shows the namespace that PID was in when it was opened.
     *        It is read, not taken.
     * @throws Error if it cannot be parsed
     */
    explicit MountTable(int mountinfo);

    /**
     * Whether a mount of this table shows the filesystem `device`, as a mount table names it. That is not always
     * the st_dev of the files: btrfs gives each subvolume a number of its own.
     */
    [[nodiscard]] bool has_device(dev_t device) const;

    /** The filesystem that the mount shows; nothing if it is not listed. */
    [[nodiscard]] std::optional<dev_t> device_of(std::uint64_t mount_id) const;

    /** The type of the filesystem that the mount shows, such as "tmpfs"; "" if it is not listed. */
    [[nodiscard]] std::string type_of(std::uint64_t mount_id) const;

    /** Whether mounts made on this mount appear on others too; true as well for a mount that is not listed. */
    [[nodiscard]] bool is_shared(std::uint64_t mount_id) const;

    /** Whether nothing can be written by way of this mount: it is read-only, or the filesystem that it shows is. */
    [[nodiscard]] bool is_read_only(std::uint64_t mount_id) const;

    /** The mounts whose source, as it was named when they were made, is `source`; in the table's order. */
    [[nodiscard]] std::vector<std::uint64_t> ids_of_source(const std::string &source) const;

    /** The mounts whose filesystem's type `matches`, in the table's order. */
    [[nodiscard]] std::vector<TypedMount>
    mounts_of_type(const std::function<bool(const std::string &type)> &matches) const;

    /** Where the mount is attached; "" if it is not listed. */
    [[nodiscard]] std::string mount_point(std::uint64_t mount_id) const;

    /** The mounts of the version 1 hierarchy that has `controller`, or of version 2 for ""; the latest first. */
    [[nodiscard]] std::vector<CgroupMount> cgroup_mounts(const std::string &controller) const;

private:
    /** A line, as it is written: a text of it is copied where it is asked for. */
    struct Entry {
        std::uint64_t id = 0;
        dev_t device = 0;
        std::string_view root;
        std::string_view point;
        std::string_view options; ///< of the mount
        bool is_shared = false;
        std::string_view type;
        std::string_view source;
        std::string_view filesystem_options;
    };

    static Entry read_entry(std::string_view line);
    [[nodiscard]] const Entry *find(std::uint64_t mount_id) const;

    std::unique_ptr<const std::string> text_; ///< stays where it is when this is moved
    std::vector<Entry> entries_;
};

/** The text of such a table, from its beginning. @throws Error */
std::string read_mountinfo(int mountinfo);

} // namespace ogh
