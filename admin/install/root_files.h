// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "install/host_writer.h"

namespace ogh::admin {

/**
 * Files below a root that somebody else may have made, such as an image's: a symlink in it leads where it leads in that
 * root, and nothing outside of it is opened, changed or removed. Paths are absolute below the root; a symlink at their
 * end is never followed.
 */
class RootFiles final {
public:
    /** @param root a folder of this host, whose own symlinks are followed. @throws Error */
    explicit RootFiles(const std::string &root);

    /** @throws Error */
    [[nodiscard]] PresentFile look(const std::string &path) const;

    /** In one step, whatever was there. Makes the folders on the way, with mode 0755. @throws Error */
    void put(const std::string &path, std::string_view text, mode_t mode) const;

    /** @throws Error; a file that is not there is none */
    void remove(const std::string &path) const;

    /** Moves a file into a folder, which is made. @throws Error */
    void move(const std::string &path, const std::string &folder) const;

    /** Removes the folder that a path is in, and those above, as long as nothing is in them. */
    void remove_empty_folders(const std::string &path) const;

private:
    [[nodiscard]] std::optional<UniqueFd> find_folder(const std::string &path) const;
    [[nodiscard]] UniqueFd make_folder(const std::string &path) const;

    UniqueFd root_;
};

} // namespace ogh::admin
