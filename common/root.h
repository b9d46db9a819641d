// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "owner.h"
#include "unique_fd.h"

namespace ogh {

/** What is mounted, and what it is mounted on; a socket is mounted on a file. */
enum class Kind { Directory, File, Socket };

/** What statx(2) tells of an open inode, as far as the rules for mount targets need it. */
struct Inode {
    dev_t device = 0;
    ino_t number = 0;
    std::uint64_t mount_id = 0;
    std::uint64_t size = 0; ///< in bytes
    dev_t node = 0;         ///< number of a device node
    mode_t mode = 0;
    uid_t uid = 0;
    gid_t gid = 0;
    bool mount_root = false;
    bool deleted = false;

    /** @throws SystemError; `what` names it */
    static Inode of(int fd, const std::string &what);

    [[nodiscard]] bool is(Kind kind) const;
    [[nodiscard]] bool same_file(const Inode &other) const;

    /** Whether it is the node of that character device. */
    [[nodiscard]] bool is_node(dev_t device_number) const;
};

/** A path inside a container, absolute, taken apart at the last `/`. */
struct InnerPath {
    std::string parent; ///< "/" or without a `/` at the end
    std::string name;

    /** @throws Error (Usage) if `path` is not absolute, is the root, or has an empty, `.` or `..` component */
    static InnerPath parse(const std::string &path);

    [[nodiscard]] std::string full() const;
};

/**
 * The root filesystem of a container, entered. Its content is hostile: every path below is resolved by the
 * kernel inside the root (openat2), results are descriptors, and what is made is made one component at a time.
 */
class Root final {
public:
    /**
     * @param fd the rootfs (O_PATH). To make or mount something below it, open it after entering: a descriptor from
     *        before belongs to a mount that this process's namespace does not have.
     */
    explicit Root(UniqueFd fd);

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
 * Makes an empty folder (0755) or file (0644) named `name` in `parent` and opens it (O_PATH).
 * @param owner as whom it is made; in a user namespace the kernel refuses others on the container's own tmpfs.
 *        Where that one may not, this process makes it and gives it away. Nothing: this process
 * @param path of it in the container, for messages
 * @return nothing if the name exists already, as whatever
 * @throws SystemError
 */
std::optional<UniqueFd> make_placeholder(int parent, const std::string &name, Kind kind,
                                         const std::optional<Owner> &owner, const std::string &path);

/** Gives a folder that make_placeholder() has made the mode 0755. @throws SystemError */
void clear_setgid(int folder, const std::optional<Owner> &owner, const std::string &path);

} // namespace ogh
