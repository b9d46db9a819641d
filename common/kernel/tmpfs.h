// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/unique_fd.h"

namespace ogh {

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
