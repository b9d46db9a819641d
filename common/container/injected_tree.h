// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "edits/edits.h"
#include "kernel/inode.h"
#include "kernel/mount_tree.h"
#include "kernel/private_tmpfs.h"

namespace ogh {

/**
 * Edits::tree in the making: a tmpfs with files of the host mounted in it, put together before the container
 * is entered, so that it appears there whole or not at all.
 */
class InjectedTree final {
public:
    /**
     * Makes the tmpfs and all that is in it: read-only, nosuid, nodev; mounts that say that they
     * are writable are noexec instead.
     * @param place where it is put together; takes the name "tree"
     * @param label see TmpfsOptions
     * @throws Error
     */
    InjectedTree(const TmpfsEdit &edit, const PrivateTmpfs &place, const std::string &label);

    /** What is attached in the container; locked in a user namespace. */
    [[nodiscard]] MountTree &tree() { return tree_; }
    [[nodiscard]] const MountTree &tree() const { return tree_; }

    /** Of the tmpfs's root. */
    [[nodiscard]] const Inode &inode() const { return inode_; }

private:
    void mount(const MountEdit &edit);
    void write(const TmpfsEdit::File &file);
    void link(const LinkEdit &edit);
    int directory(std::string_view path);

    std::string container_path_;
    UniqueFd top_;                                             ///< of the tmpfs, where it is put together
    std::map<std::string, UniqueFd, std::less<>> directories_; ///< those that were made in it
    Inode inode_;
    MountTree tree_{UniqueFd()};
};

// What is made in a tmpfs of this collection, which is writable for nobody else.

/**
 * Makes what something is to be mounted over, a directory or an empty file, with the directories above it, and opens it (O_PATH);
 * what is there already will do.
 * @param path relative to `tmpfs`; a file's has a directory
 * @throws SystemError
 */
UniqueFd make_injected_target(int tmpfs, const std::string &path, Kind kind, const std::string &what);

/** Makes a plain file for everyone to read, in a directory that exists. @throws SystemError */
void write_injected_file(int tmpfs, const TmpfsEdit::File &file, const std::string &what);

} // namespace ogh
