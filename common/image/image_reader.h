// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "image/mount_policy.h"
#include "image/root_fs.h"
#include "kernel/directory_entries.h"
#include "kernel/inode.h"
#include "kernel/proc_fs.h"
#include "kernel/user_namespace.h"
#include "oci/config.h"

namespace ogh {

/**
 * The same user, as this host numbers it. In a user namespace no capability of it counts: it reaches no further than the ids
 * that are mapped, which only the kernel can judge file by file.
 * @throws Error if an id has no number here; then no runtime could start the process
 */
ProcessUser on_this_host(ProcessUser user, const std::optional<UserNamespace> &user_namespace);

/**
 * While it lives, the kernel judges each access to a file as if `user` made it, ACLs included: setfsuid(2),
 * setgroups(2), and CAP_DAC_OVERRIDE only if that user has it.
 */
class ScopedContainerUser final {
public:
    /** @throws Error if this process cannot do so; then it has changed nothing that matters any more */
    ScopedContainerUser(const ProcessUser &user, bool keeps_groups, const ProcFs &proc);
    ScopedContainerUser(const ScopedContainerUser &) = delete;
    ScopedContainerUser &operator=(const ScopedContainerUser &) = delete;
    ~ScopedContainerUser();

private:
    std::optional<std::vector<gid_t>> own_groups_; ///< nothing if they stayed
};

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
    /**
     * @param root, proc, mount_policy outlive this
     * @param user as this host numbers it; nothing: this process's own
     * @param keeps_groups it has the groups of this process, which are the engine's user's
     */
    ImageReader(const RootFs &root, const ProcFs &proc, MountPolicy &mount_policy, ReadAs as,
                const std::optional<ProcessUser> &user, bool keeps_groups = false);
    ImageReader(const ImageReader &) = delete;
    ImageReader &operator=(const ImageReader &) = delete;

    /** As RootFs::find(), with the permissions of that user on all directories on the way. */
    [[nodiscard]] std::optional<UniqueFd> find(const std::string &path) const { return root_.find(path); }

    /** Why what find() has found is not read: "is no plain file", and the like; "" if it may be. */
    [[nodiscard]] std::string why_not_read(int found, const Inode &inode) const;

    /**
     * Opens a plain file that was found (O_PATH) for reading.
     * @param what names it in messages
     * @throws Error if why_not_read() forbids it; SystemError if the user may not read it
     */
    [[nodiscard]] UniqueFd open(int found, const Inode &inode, const std::string &what) const;

    /** As list_directory(), for a directory that was found. @throws Error also if it may not be read */
    [[nodiscard]] std::vector<DirectoryEntry> list(int found, const DirectoryListing &listing) const;

private:
    [[nodiscard]] std::string origin_obstacle(int found, const Inode &inode) const;

    const RootFs &root_;
    const ProcFs &proc_;
    MountPolicy &mount_policy_;
    ReadAs as_;
    std::optional<ScopedContainerUser> acting_;
};

} // namespace ogh
