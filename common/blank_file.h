// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mount_tree.h"
#include "owner.h"
#include "private_tmpfs.h"
#include "unique_fd.h"

namespace ogh {

/**
 * A file of our own on a tmpfs, made on the host, filled after entering, and mounted read-only over a file of the
 * image.
 */
class BlankFile final {
public:
    /**
     * @param name its own in `tmpfs`
     * @param owner nothing: this process
     * @throws SystemError
     */
    BlankFile(const PrivateTmpfs &tmpfs, const std::string &name, const std::optional<Owner> &owner);

    [[nodiscard]] MountTree &tree() { return tree_; }
    [[nodiscard]] const Inode &inode() const { return inode_; }

    /** Writes all of its content. Call it once. @throws SystemError; `what` names it */
    void fill(std::string_view content, const std::string &what) const;

private:
    UniqueFd fd_; ///< for writing, by another mount than the tree's
    MountTree tree_;
    Inode inode_;
};

} // namespace ogh
