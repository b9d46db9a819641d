// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/unique_fd.h"
#include "image/root_fs.h"
#include "kernel/user_namespace.h"

namespace ogh {

/**
 * The container's root in the container's own mount namespace, which this process has joined: below it something can be
 * made and mounted.
 */
class EnteredRoot final {
public:
    [[nodiscard]] const RootFs &files() const { return files_; }

private:
    friend class InitProcess;
    explicit EnteredRoot(UniqueFd fd) : files_(std::move(fd)) {}

    RootFs files_;
};

/**
 * Whether the state names a process that can be entered: in createContainer it has 0 or 1, which is another one here, and
 * nothing else that this process sees is the host's either.
 * @throws Error
 */
void check_stage(pid_t pid);

/**
 * The container's init, held by a pidfd: created, waiting for the hooks, its mounts made, not yet pivoted.
 */
class InitProcess final {
public:
    /**
     * @param pid from the state, as this host numbers it
     * @throws Error if there is none that may be entered: absent or below 2 (in createContainer the state has 0
     *         or 1, and /proc/1 is the host's init), gone, or in this process's own mount namespace; exit code
     *         Host if a capability that entering needs is missing
     */
    explicit InitProcess(pid_t pid);

    /** The container's user namespace; nothing if it has this process's own. */
    [[nodiscard]] const std::optional<UserNamespace> &user_namespace() const { return user_namespace_; }

    /**
     * Does `look`, which looks at the process by its number.
     * @throws what `look` throws; Error if init has ended by then, for the number may be another process's
     */
    void look_at(const std::function<void()> &look) const;

    /**
     * Joins the container's mount namespace; this process stays there, and has no use for this any more. CAP_SYS_CHROOT and CAP_SYS_PTRACE are
     * given up with it, and without a user namespace what it takes to act as the container's root.
     * @param rootfs the container's root as the host sees it
     * @throws Error if init ended meanwhile, or `rootfs` is not the same directory inside: then the container has
     *         pivoted already (or has not begun), and the path would be looked up in the image
     */
    [[nodiscard]] EnteredRoot enter(const std::string &rootfs) &&;

private:
    UniqueFd pidfd_;
    std::optional<UserNamespace> user_namespace_;
};

/** The error of a container whose root is not at `rootfs` in its mount namespace. */
Error not_at(const std::string &rootfs);

} // namespace ogh
