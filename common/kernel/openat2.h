// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/unique_fd.h"

namespace ogh {

/** How a path may be walked; openat2(2), RESOLVE_*. Magic links (/proc/PID/fd and the like) are never followed. */
enum class Walk : std::uint64_t {
    InRoot,     ///< the descriptor is `/`: absolute links and `..` stay below it
    NoSymlinks, ///< no component may be a symlink
    Beneath,    ///< below the descriptor, no symlink; mounts are crossed
    OneStep,    ///< below the descriptor, no symlink, no other mount
};

/**
 * openat2(2) with O_CLOEXEC and O_NOCTTY, EINTR and a bounded number of EAGAIN (something was renamed or
 * mounted meanwhile) retried.
 *
 * @param flags open flags, O_PATH mostly
 * @return nothing if a component does not exist (ENOENT)
 * @throws SystemError for every other failure; `what` names the path for a person. There is no fallback where
 *         the kernel or a seccomp filter refuses the call: the exit code then is Host.
 */
std::optional<UniqueFd> find_path(int dir, const std::string &path, int flags, Walk walk,
                                  const std::string &what);

/** As find_path(), but a path that does not exist is an error as well. */
UniqueFd open_path(int dir, const std::string &path, int flags, Walk walk, const std::string &what);

} // namespace ogh
