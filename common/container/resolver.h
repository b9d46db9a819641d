// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "edits/inner_path.h"
#include "image/init_process.h"
#include "image/mount_policy.h"
#include "kernel/inode.h"

namespace ogh {

/** What is open (O_PATH) inside a container to be mounted on. */
struct Target {
    UniqueFd fd;
    Inode inode;
    bool existed = false; ///< or it is a placeholder of this run
};

/** A directory of the container, looked up once and then used by descriptor. */
struct InnerDirectory {
    UniqueFd fd;
    Inode inode;
    std::string why_not_make; ///< why nothing may be made in it; "" if something may
};

/** Finds what there is in an entered container, and tells what may be done with it. It changes nothing. */
class Resolver final {
public:
    /** @param mount_policy outlives this */
    Resolver(EnteredRoot root, MountPolicy &mount_policy);
    Resolver(const Resolver &) = delete;
    Resolver &operator=(const Resolver &) = delete;

    /**
     * The directory at `path`, symlinks followed inside the root.
     * @return nullptr if it does not exist; it lives as long as this
     * @throws Error if something else has the name
     */
    const InnerDirectory *directory(const std::string &path);

    /** The same for one that was just made there. */
    const InnerDirectory &directory(const std::string &path, UniqueFd made);

    /**
     * What has the name in `parent`, symlinks followed inside the root, for a directory or file to be mounted on it.
     * @throws Error if it does not exist, is of another kind, is the root itself, or lies on procfs or sysfs or on a
     *         shared mount
     */
    [[nodiscard]] Target mount_target(const InnerDirectory &parent, const InnerPath &path, Kind kind);

    /** Whether what has a name will do as it is. */
    using IsRight = std::function<bool(const Inode &)>;

    /**
     * The same for a device node to be mounted on it; what is there may be a node of the image.
     * @param is_right asked about what is mounted there, or is in a directory of the host's where nothing is made
     * @return nothing if that will do
     */
    [[nodiscard]] std::optional<Target> node_target(const InnerDirectory &parent, const InnerPath &path,
                                                    const IsRight &is_right);

    /**
     * A directory of /proc for a tmpfs to be mounted on it: on procfs, or on a tmpfs that the container alone has.
     * @return nothing if it does not exist
     * @throws Error if what is there lies anywhere else, or on a shared mount
     */
    [[nodiscard]] std::optional<Target> proc_target(const InnerPath &path);

    /**
     * Why nothing may be made in the directory `path`, which need not exist: it would lie in a volume, or on a shared
     * mount; "" if it may.
     */
    [[nodiscard]] std::string why_not_make(const std::string &path);

    /** Whether it lies on a mount whose source in the mount table is `source`. */
    [[nodiscard]] bool is_on(const std::string &source, const Inode &inode)
    {
        return mount_policy_.is_on(source, inode);
    }

    /** What the container sees at `path` now. @throws Error if nothing is there */
    [[nodiscard]] Inode look(const InnerPath &path) const;

private:
    [[nodiscard]] const RootFs &root() const { return root_.files(); }
    UniqueFd find_in(const InnerDirectory &parent, const InnerPath &path) const;
    void check_mountable(const Target &target, const std::string &path);

    EnteredRoot root_;
    MountPolicy &mount_policy_;
    std::map<std::string, InnerDirectory> directories_;
};

/** "cannot make 'PATH' in the container: WHY" */
Error cannot_make(const std::string &path, const std::string &why);

} // namespace ogh
