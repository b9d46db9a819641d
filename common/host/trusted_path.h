// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "host/sysroot.h"

namespace ogh {

/**
 * What lets others than root change an open file, directory or symlink: "belongs to user 1000". In a user namespace without a
 * number for the host's root its files are root's.
 * @param other_owner a user that counts as root does
 * @return "" if nothing does
 */
std::string why_not_trusted(int fd, uid_t other_owner = 0);

/**
 * The same, and a directory is one in which others may not even make new files, as they may in a sticky one.
 * @return "" if nothing lets them
 */
std::string why_others_may_add(int fd, uid_t other_owner = 0);

/**
 * Finds what only root may change: the file, and each directory and symlink on the way to it.
 * @return nothing if it does not exist
 * @throws Error (BrokenHost) that names what others may change; Error as Sysroot::find()
 */
std::optional<ResolvedPath> find_trusted(const Sysroot &sysroot, const std::string &path,
                                         uid_t other_owner = 0);

} // namespace ogh
