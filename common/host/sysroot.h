// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace ogh {

/** A place on the host, found by following symlinks as the host would. */
struct ResolvedPath {
    std::string path; ///< canonical, without any symlink, relative to the sysroot but with a leading `/`
    UniqueFd fd;      ///< O_PATH
};

/**
 * The tree in which the host's files are looked up: `/`, or what --sysroot names. Symlinks in it are followed
 * one component at a time and stay below it, so that each folder on the way can be looked at.
 */
class Sysroot final {
public:
    /** @throws Error (Host) if `path` is no directory */
    explicit Sysroot(const std::string &path);

    /** Asked about each folder on the way, before it is left for a name in it or for `..`; throws to refuse. */
    using Guard = std::function<void(int directory)>;

    /**
     * @param path absolute below the sysroot
     * @return nothing if it does not exist
     * @throws Error if it cannot be followed: more than 40 symlinks, a file used as a folder, no permission
     */
    [[nodiscard]] std::optional<ResolvedPath> find(std::string_view path, const Guard &guard = {}) const;

    /** The same path as this process names it, with the sysroot in front; it contains no symlink. */
    [[nodiscard]] std::string on_host(const std::string &path) const;

private:
    std::string path_; ///< canonical; "" for `/`
    UniqueFd fd_;
};

} // namespace ogh
