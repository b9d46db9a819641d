// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "image/container_user.h"
#include "image/mount_policy.h"
#include "image/root_fs.h"
#include "kernel/folder_entries.h"
#include "kernel/inode.h"
#include "kernel/proc_fs.h"

namespace ogh {

/** As whom an image is read, and from where. */
enum class ReadAs {
    /**
     * The container's root: what this collection writes again for the container. Only from the root's own mount, or
     * from a tmpfs that the container alone has: a symlink could lead to a file that others are to keep.
     */
    Root,
    /**
     * The container's process: libraries, which may lie in volumes. Never from an interface of the kernel, which shows
     * a host's process other things than it shows the container.
     */
    Process,
};

/**
 * Reads an image as the container could read it, before it is entered. The one place that opens files of an image for
 * reading. While it lives, this process acts on all files as that user: open nothing of the host then.
 */
class ImageReader final {
public:
    /** @param root, proc, ground outlive this; @param user nothing: this process's own */
    ImageReader(const RootFs &root, const ProcFs &proc, MountPolicy &mount_policy, ReadAs as,
                const std::optional<ContainerUser> &user);
    ImageReader(const ImageReader &) = delete;
    ImageReader &operator=(const ImageReader &) = delete;

    /** As RootFs::find(), with the permissions of that user on all folders on the way. */
    [[nodiscard]] std::optional<UniqueFd> find(const std::string &path) const { return root_.find(path); }

    /** Why what find() has found is not read: "is no plain file", and the like; "" if it may be. */
    [[nodiscard]] std::string why_not_read(int found, const Inode &inode) const;

    /**
     * Opens a plain file that was found (O_PATH) for reading.
     * @param what names it in messages
     * @throws Error if why_not_read() forbids it; SystemError if the user may not read it
     */
    [[nodiscard]] UniqueFd open(int found, const Inode &inode, const std::string &what) const;

    /** As list_folder(), for a folder that was found. @throws Error also if it may not be read */
    [[nodiscard]] std::vector<FolderEntry> list(int found, const FolderListing &listing) const;

private:
    [[nodiscard]] std::string origin_obstacle(int found, const Inode &inode) const;

    const RootFs &root_;
    const ProcFs &proc_;
    MountPolicy &mount_policy_;
    ReadAs as_;
    /** Whether a mount shows an interface of the kernel, by its id: a folder has many files on one mount. */
    mutable std::map<std::uint64_t, bool> interfaces_;
    std::optional<ScopedContainerUser> acting_;
};

} // namespace ogh
