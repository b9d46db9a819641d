// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "base/unique_fd.h"

namespace ogh {

/**
 * The host's /proc, opened on the host and used after entering: a /proc of the container is shaped by others.
 * The descriptor is close-on-exec, and this process runs nothing.
 */
class ProcFs final {
public:
    /** @throws Error (BrokenHost) if /proc is not procfs */
    ProcFs();

    /** Of its root (O_PATH). */
    [[nodiscard]] int fd() const { return fd_.get(); }

    /** Opens a file of this process, such as "mountinfo". @throws SystemError (BrokenHost) */
    [[nodiscard]] UniqueFd open_self(const std::string &name) const;

    /** Opens a file of the process `pid`, such as "cgroup". @throws SystemError (BrokenHost) */
    [[nodiscard]] UniqueFd open_of(pid_t pid, const std::string &name) const;

    /** Opens (O_PATH) the root directory of the process `pid`, in that one's mount namespace. @throws SystemError */
    [[nodiscard]] UniqueFd open_root_of(pid_t pid) const;

    /**
     * Opens again, with other flags, what `fd` (O_PATH) refers to. That is how a file of an image is read: it is
     * looked at first, and only then opened, so that no device, FIFO or terminal ever is.
     * @param what names it in messages
     * @throws SystemError
     */
    [[nodiscard]] UniqueFd reopen(int fd, int flags, const std::string &what) const;

    /**
     * Takes a mount away, in the mount namespace that this process is in; where that fails it stays.
     * @param mount of its root
     */
    void unmount(int mount) const noexcept;

private:
    [[nodiscard]] UniqueFd open_file(const std::string &path) const;

    UniqueFd fd_;
    UniqueFd descriptors_; ///< self/fd, which is looked up once
};

} // namespace ogh
