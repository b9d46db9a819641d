// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"

namespace ogh {

/** A place on the host, found by following symlinks as the host would. */
struct ResolvedPath {
    std::string path; ///< canonical, without any symlink, relative to the sysroot but with a leading `/`
    UniqueFd fd;      ///< O_PATH
};

/**
 * The tree in which the host's files are looked up: `/`, or what --sysroot names. Symlinks in it are followed
 * one component at a time and stay below it, so that each directory on the way can be looked at.
 */
class Sysroot final {
public:
    /** @throws Error (BrokenHost) if `path` is no directory */
    explicit Sysroot(const std::string &path);

    /**
     * The tree below an open directory, such as the root of a process with a mount namespace of its own. Symlinks in it lead
     * where they lead there, and /proc in it is followed by what its links say, not by where they lead.
     * @param directory O_PATH
     * @param path that names it, for on_host()
     */
    [[nodiscard]] static Sysroot of_directory(UniqueFd directory, std::string path)
    {
        return {std::move(path), std::move(directory)};
    }

    /**
     * Asked about each directory on the way, before it is left for a name in it or for `..`, and about each symlink (O_PATH)
     * before it is followed; throws to refuse.
     */
    using Guard = std::function<void(int place)>;

    /**
     * @param path absolute below the sysroot
     * @return nothing if it does not exist
     * @throws Error if it cannot be followed: more than 40 symlinks, a file used as a directory, no permission
     */
    [[nodiscard]] std::optional<ResolvedPath> find(std::string_view path, const Guard &guard = {}) const;

    /**
     * The same path as this process names it, with the sysroot in front. It contains no symlink but that of
     * /proc/PID/root, which leads to another mount namespace and so has no other name.
     */
    [[nodiscard]] std::string on_host(const std::string &path) const;

private:
    Sysroot(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

    std::string path_; ///< canonical, or a process's `root`; "" for `/`
    UniqueFd fd_;
};

} // namespace ogh
