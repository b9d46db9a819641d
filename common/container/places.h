// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "container/atomic_file.h"
#include "edits/edits.h"
#include "edits/inner_path.h"
#include "image/mount_policy.h"
#include "image/root_fs.h"
#include "kernel/inode.h"

namespace ogh {

/** An open place inside a container (O_PATH). */
struct Place {
    UniqueFd fd;
    Inode inode;
    bool existed = false;
};

/**
 * Finds, or makes, the places inside an entered container where something is put. What it makes is taken away
 * again by the destructor unless keep() was called.
 */
class Places final {
public:
    /**
     * @param ground outlives this
     * @param owner of what is made: the container's root where that is not this process's own
     */
    Places(RootFs root, MountPolicy &mount_policy, std::optional<FsCredentials> owner);
    Places(const Places &) = delete;
    Places &operator=(const Places &) = delete;
    ~Places();

    /**
     * The place on which a folder or file may be mounted: what exists, symlinks followed inside the root, or an
     * empty placeholder that is made together with the folders above it.
     * @throws Error if the place is of another kind, is the root itself, lies on procfs or sysfs or on a shared
     *         mount, or would have to be made in a volume
     */
    Place mount_target(const InnerPath &path, Kind kind);

    /** Whether what has a name will do as it is. */
    using IsRight = std::function<bool(const Inode &)>;

    /**
     * The place on which a device node may be mounted: what has the name, symlinks followed inside the root, a node of
     * the image included, or a placeholder as by mount_target().
     * @param is_right asked about what is mounted there, or is in a folder of the host's where nothing is made
     * @return nothing if that will do
     * @throws Error as mount_target()
     */
    std::optional<Place> node_target(const InnerPath &path, const IsRight &is_right);

    /**
     * A folder of /proc on which a tmpfs may be mounted: on procfs, or on a tmpfs that the container alone has.
     * @return nothing if it does not exist
     * @throws Error if what is there lies anywhere else, or on a shared mount
     */
    std::optional<Place> proc_target(const InnerPath &path);

    /** What shall have a name, besides folders and plain files. */
    struct Entry {
        AtomicFile::Make make;
        std::function<bool(int fd, const Inode &)> is_right; ///< whether what has the name (O_PATH) will do
    };

    /**
     * Makes a device node or a symlink. What the image has under that name is replaced, never opened or followed,
     * unless it will do.
     * @return whether it was made
     * @throws Error if a folder or a mount has the name, or nothing may be made there
     */
    bool make_entry(const InnerPath &path, const Entry &entry);

    /**
     * Writes a file under a temporary name in its folder, which is made if need be; replace() gives it its name.
     * @throws Error if nothing may be made there, because it lies in a volume or on a shared mount
     */
    void write(const FileEdit &file);

    /** Puts the files that were written in place of those that have their names, in the order of write(). */
    void replace();

    /**
     * Why nothing may be made in the folder `path`, which need not exist: it would lie in a volume, or on a shared
     * mount; "" if it may.
     */
    [[nodiscard]] std::string make_obstacle(const std::string &path);

    /** What the container sees at `path` now. @throws Error if nothing is there */
    [[nodiscard]] Inode look(const InnerPath &path) const;

    [[nodiscard]] const RootFs &root() const { return root_; }
    [[nodiscard]] MountPolicy &mount_policy() { return mount_policy_; }

    /** Leaves in the container what was made. */
    void keep() { made_.clear(); }

private:
    /** A folder of the container, looked up once and then used by descriptor. */
    struct Folder {
        UniqueFd fd;
        Inode inode;
        std::string make_obstacle; ///< "" if something may be made in it
    };
    using SharedFolder = std::shared_ptr<const Folder>;

    struct Made {
        SharedFolder parent;
        std::string name;
        Kind kind;
    };

    struct Written {
        SharedFolder parent;
        std::string name;
        std::unique_ptr<AtomicFile> file;
    };

    SharedFolder folder(const std::string &path);
    std::optional<UniqueFd> make(const SharedFolder &parent, const InnerPath &path, Kind kind);
    UniqueFd find_in(const Folder &parent, const InnerPath &path) const;
    void check_mountable(const Place &place, const std::string &path);

    RootFs root_;
    MountPolicy &mount_policy_;
    std::optional<FsCredentials> owner_;
    std::map<std::string, SharedFolder> folders_;
    std::vector<Made> made_; ///< in order
    std::vector<Written> written_;
};

} // namespace ogh
