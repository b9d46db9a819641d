// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "kernel/fs_credentials.h"

namespace ogh {

/**
 * A file of a container in the making, or a device node or a symlink: whole under a temporary name before it gets its
 * own, so that a reader sees the old one or the new one, and a symlink of the image is replaced, never followed.
 */
class AtomicFile final {
public:
    /** Makes something of that name in `folder`. @return 0 or an error number */
    using Make = std::function<int(int folder, const std::string &name)>;

    /**
     * Writes a plain file.
     * @param folder outlives this
     * @param owner as whom it is made; see act_for()
     * @param path of it in the container, for messages
     * @throws SystemError
     */
    AtomicFile(int folder, std::string_view content, mode_t mode, const std::optional<FsCredentials> &owner,
               std::string path);

    /** The same for something else, which `make` makes. */
    AtomicFile(int folder, const Make &make, const std::optional<FsCredentials> &owner, std::string path);
    AtomicFile(const AtomicFile &) = delete;
    AtomicFile &operator=(const AtomicFile &) = delete;
    ~AtomicFile(); ///< takes it away unless it has got its name

    /**
     * Gives it its name.
     * @return whether nothing had that name before
     * @throws SystemError; a mount point or a folder cannot be replaced
     */
    bool commit(const std::string &name);

private:
    int folder_;
    std::optional<FsCredentials> owner_;
    std::string path_;
    std::string temporary_; ///< "" once it has its name
};

} // namespace ogh
