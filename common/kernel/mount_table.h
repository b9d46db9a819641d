// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct libmnt_table;

namespace ogh {

/** A mount of a hierarchy of control groups. */
struct CgroupMount {
    std::string root;  ///< the cgroup that it shows, as /proc/PID/cgroup would name it
    std::string point; ///< where it is attached
};

/** What the table says of a mount. */
struct MountLine {
    bool is_listed = false;
    dev_t filesystem = 0;      ///< that it shows
    std::string type = {};     ///< of that, such as "tmpfs"
    std::string point = {};    ///< where it is attached
    bool is_shared = true;     ///< mounts made on it appear on others too
    bool is_read_only = false; ///< nothing can be written by way of it: it is so itself, or the filesystem is
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

    /** @return with its defaults if it is not listed */
    [[nodiscard]] MountLine find(std::uint64_t mount_id) const;

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

    /** The mounts of the version 1 hierarchy that has `controller`, or of version 2 for ""; the latest first. */
    [[nodiscard]] std::vector<CgroupMount> cgroup_mounts(const std::string &controller) const;

private:
    struct Release {
        void operator()(libmnt_table *table) const;
    };

    std::unique_ptr<libmnt_table, Release> table_;
};

/**
 * Which of the mounts that may hang may be at fault where a process has not come to its end in time, in words that follow "gave up": those
 * in the container, or all if it has none.
 * @param rootfs of the container on the host: what is below it is named as the container does; "" for no container
 */
std::string blame(const std::vector<TypedMount> &mounts, const std::string &rootfs);

} // namespace ogh
