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

/** The source that the mount table shows for a tmpfs which containers get to see. */
constexpr const char *injected_source = "oci-gpu-hooks";

/** The file in it that names its directories with libraries, one a line, for ldcache-update. */
constexpr const char *directory_list_name = ".oci-gpu-hooks/ld-directories";

/** What a new tmpfs is to be like. */
struct TmpfsOptions {
    /**
     * The SELinux context of all that is in it, as config.json has it in linux.mountLabel; "" for none. A host without
     * SELinux needs none.
     */
    std::string label = {};
    const char *source = nullptr; ///< in the mount table; nullptr: the kernel's "none"
    unsigned attributes = 0;      ///< MOUNT_ATTR_*
};

/**
 * Makes an empty tmpfs (0755) that is mounted nowhere.
 * @return its root directory, not O_PATH
 * @throws SystemError
 */
UniqueFd make_tmpfs(const TmpfsOptions &options);

/** Whether what is open lies on a tmpfs, anybody's. */
bool is_on_tmpfs(int fd);

} // namespace ogh
