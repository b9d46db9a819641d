// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "edits.h"
#include "mount_tree.h"
#include "private_tmpfs.h"
#include "root.h"
#include "unique_fd.h"

namespace ogh {

/**
 * Edits::tree in the making: a tmpfs of ours with files of the host mounted in it, put together before the container
 * is entered, so that it appears there whole or not at all. What depends on the image is added afterwards.
 */
class OwnTree final {
public:
    /**
     * Makes the tmpfs and its mounts: read-only but for those that say otherwise, nosuid, nodev.
     * @param place where it is put together; takes the name "tree"
     * @param label see TmpfsOptions
     * @throws Error
     */
    OwnTree(const TmpfsEdit &edit, const PrivateTmpfs &place, const std::string &label);

    /** What is attached in the container; locked in a user namespace. */
    [[nodiscard]] MountTree &tree() { return tree_; }
    [[nodiscard]] const MountTree &tree() const { return tree_; }

    /** Of the tmpfs's root. */
    [[nodiscard]] const Inode &inode() const { return inode_; }

    /** Adds the files and links of `edit`, where nobody sees them yet. @throws SystemError */
    void fill(const TmpfsEdit &edit);

private:
    void mount(const MountEdit &edit);
    int folder(int top, std::string_view path);

    std::string container_path_;
    UniqueFd writable_; ///< its root folder, by a mount that stays writable and that nobody else has
    UniqueFd attached_; ///< the same, where things can be mounted on it
    std::map<std::string, UniqueFd, std::less<>> folders_; ///< those that were made, by one of the two
    Inode inode_;
    MountTree tree_{UniqueFd()};
};

} // namespace ogh
