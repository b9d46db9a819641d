// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct libmnt_fs;
struct libmnt_table;

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
 * A mount namespace's table of mounts, as of when it was read; libmount reads its lines. Nothing is mounted by that
 * library: it takes paths, and no path of a container is used twice as a text. mount_tree.h attaches by descriptors.
 */
class MountTable final {
public:
    /**
     * @param mountinfo an open /proc/PID/mountinfo; it shows the namespace that PID was in when it was opened.
     *        It is read, not taken. Not in a container's namespace: libmount may look for the device behind a source
     *        called /dev/root in the /sys of this process.
     * @throws Error if it cannot be read, or a line of it not be understood
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

    /**
     * The mounts whose filesystem is served by another process or another machine (FUSE, NFS and their like), in the table's
     * order: whoever uses one waits for as long as that takes. A type that is not known counts as served.
     *
     * All of a namespace count, wherever they are: a layer of an overlay is in the table under another path, and a path may
     * lead anywhere by symlinks.
     */
    [[nodiscard]] std::vector<TypedMount> mounts_that_may_hang() const;

    /** Where the mount is attached; "" if it is not listed. */
    [[nodiscard]] std::string mount_point(std::uint64_t mount_id) const;

    /** The mounts of the version 1 hierarchy that has `controller`, or of version 2 for ""; the latest first. */
    [[nodiscard]] std::vector<CgroupMount> cgroup_mounts(const std::string &controller) const;

private:
    struct Release {
        void operator()(libmnt_table *table) const;
    };

    [[nodiscard]] libmnt_fs *find(std::uint64_t mount_id) const;

    std::unique_ptr<libmnt_table, Release> table_;
};

/**
 * Which of the mounts that may hang may be at fault where a process has not come to its end in time, in words that follow "gave up": those
 * in the container, or all if it has none.
 * @param rootfs of the container on the host: what is below it is named as the container does; "" for no container
 */
std::string blame(const std::vector<TypedMount> &mounts, const std::string &rootfs);

} // namespace ogh
