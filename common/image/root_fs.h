// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "kernel/fs_credentials.h"
#include "kernel/inode.h"

namespace ogh {

/**
 * The root filesystem of a container, entered. Its content is hostile: every path below is resolved by the
 * kernel inside the root (openat2), results are descriptors, and what is made is made one component at a time.
 */
class RootFs final {
public:
    /**
     * @param fd the rootfs (O_PATH). To make or mount something below it, open it after entering: a descriptor from
     *        before belongs to a mount that this process's namespace does not have.
     */
    explicit RootFs(UniqueFd fd);

    [[nodiscard]] const Inode &inode() const { return inode_; }

    /**
     * Opens (O_PATH) what exists at `path`, symlinks followed inside the root.
     * @return nothing if it does not exist; a dangling symlink does not exist either
     */
    [[nodiscard]] std::optional<UniqueFd> find(const std::string &path) const;

private:
    UniqueFd fd_;
    Inode inode_;
};

/**
 * Makes an empty directory (0755) or file (0644) named `name` in `parent` and opens it (O_PATH).
 * @param owner as whom it is made; in a user namespace the kernel refuses others on the container's own tmpfs.
 *        Where that one may not, this process makes it and gives it away. Nothing: this process
 * @param path of it in the container, for messages
 * @return nothing if the name exists already, as whatever
 * @throws SystemError
 */
std::optional<UniqueFd> make_placeholder(int parent, const std::string &name, Kind kind,
                                         const std::optional<FsCredentials> &owner, const std::string &path);

/** Gives a directory that make_placeholder() has made the mode 0755. @throws SystemError */
void clear_setgid(int directory, const std::optional<FsCredentials> &owner, const std::string &path);

/** Whether it is an empty file, as others leave one behind in an image where they have mounted something. */
inline bool is_left_behind(const Inode &inode)
{
    return inode.is(Kind::File) && inode.size == 0 && !inode.mount_root;
}

} // namespace ogh
