// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/unique_fd.h"
#include "kernel/proc_fs.h"

namespace ogh {

/** What every mount of the tree gets; what is not named here stays as it is on the host. */
struct MountAttributes {
    bool read_only = false;
    int idmap = -1;         ///< a user namespace whose ids the files' owners are mapped to; -1: as they are
    bool has_nodes = false; ///< device nodes in it may be opened
    bool recursive = true;  ///< with what is mounted below it
    std::uint64_t further = 0; ///< MOUNT_ATTR_* besides these
};

/**
 * A detached copy of a host directory or file with all that is mounted below it; nobody sees it until it is
 * attached, so it never exists with the wrong attributes.
 */
class MountTree final {
public:
    /**
     * Copies what `source` (O_PATH) refers to, and gives the copy its attributes all the way
     * down: always nosuid and private, and nodev unless the nodes are what it is for.
     * @param what names the source in messages
     * @throws SystemError; exit code BrokenHost where the kernel lacks the calls (mount_setattr: Linux 5.12), or a
     *         filesystem in the tree cannot map ids
     */
    MountTree(int source, const MountAttributes &attributes, const std::string &what);

    /** Takes over a detached tree that was made elsewhere. */
    explicit MountTree(UniqueFd fd) : fd_(std::move(fd)) {}

    /** Of its root; stays valid, and names the mount, once it is attached. */
    [[nodiscard]] int fd() const { return fd_.get(); }

    /** Puts the tree on `target` (O_PATH), in the mount namespace that this process is in. */
    void attach(int target, const std::string &what) const;

    /** Takes the tree away from where attach() has put it; where that fails the container does not start anyway. */
    void detach(const ProcFs &proc) const noexcept;

    /** Whether the mount that `place` (O_PATH) shows has the attributes of this tree's root. */
    [[nodiscard]] bool looks_like(int place, const std::string &what) const;

private:
    UniqueFd fd_;
};

} // namespace ogh
