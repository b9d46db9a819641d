// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/unique_fd.h"
#include "kernel/inode.h"

namespace ogh {

/**
 * A tmpfs that only this process sees, where mounts are put together: nothing can be mounted on a detached tree,
 * nor cloned from one, before Linux 6.15. Making it moves this process to a private copy of its mount namespace;
 * what it opened before stays valid.
 */
class PrivateTmpfs final {
public:
    /**
     * @param label see TmpfsOptions
     * @throws SystemError
     */
    explicit PrivateTmpfs(const std::string &label);

    /** Its root directory; not O_PATH. */
    [[nodiscard]] int fd() const { return fd_.get(); }

    /** Makes an empty directory (0755) or file (0644) at its top. @return it, O_PATH. @throws SystemError */
    [[nodiscard]] UniqueFd make(const std::string &name, Kind kind) const;

private:
    UniqueFd fd_;
};

} // namespace ogh
