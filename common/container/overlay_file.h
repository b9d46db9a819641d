// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "kernel/fs_credentials.h"
#include "kernel/inode.h"
#include "kernel/mount_tree.h"

namespace ogh {

/** An empty file of our own on a tmpfs, to be filled and then mounted read-only over a file of the image. */
class OverlayFile final {
public:
    OverlayFile(UniqueFd fd, MountTree tree);

    [[nodiscard]] const MountTree &tree() const { return tree_; }
    [[nodiscard]] const Inode &inode() const { return inode_; }

    /** Writes all of its content. Call it once. @throws SystemError; `what` names it */
    void fill(std::string_view content, const std::string &what) const;

private:
    UniqueFd fd_; ///< for writing, by another mount than the tree's
    MountTree tree_;
    Inode inode_;
};

/** What blank files are to be like. */
struct OverlayFiles {
    std::vector<mode_t> modes;          ///< one a file
    std::optional<FsCredentials> owner; ///< nothing: this process
    std::string label;                  ///< see PrivateTmpfs
    bool lock = false;                  ///< see lock_mounts()
};

/**
 * Makes them, whichever mount namespace this process is in: a child puts them together in a copy of it, so that this
 * process stays where it is.
 * @throws Error
 */
std::vector<OverlayFile> make_overlay_files(const OverlayFiles &how);

} // namespace ogh
