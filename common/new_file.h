// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "owner.h"

namespace ogh {

/**
 * A file of a container in the making: whole under a temporary name before it gets its own, so that a reader sees the
 * old file or the new one, and a symlink of the image is replaced, never followed.
 */
class NewFile final {
public:
    /**
     * Writes it, mode 0644.
     * @param folder outlives this
     * @param owner as whom it is made; see act_for()
     * @param path of it in the container, for messages
     * @throws SystemError
     */
    NewFile(int folder, std::string_view content, const std::optional<Owner> &owner, std::string path);
    NewFile(const NewFile &) = delete;
    NewFile &operator=(const NewFile &) = delete;
    ~NewFile(); ///< takes it away unless it has got its name

    /**
     * Gives it its name.
     * @return whether nothing had that name before
     * @throws SystemError; a mount point or a folder cannot be replaced
     */
    bool place(const std::string &name);

private:
    int folder_;
    std::optional<Owner> owner_;
    std::string path_;
    std::string temporary_; ///< "" once it has its name
};

} // namespace ogh
