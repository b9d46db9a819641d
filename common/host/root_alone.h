// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "host/sysroot.h"

namespace ogh {

/**
 * What lets others than root change an open file or folder: "belongs to user 1000". The user of this process counts as
 * root for what that process runs, and in a user namespace without a number for the host's root its files do.
 * @return "" if nothing does
 */
std::string why_not_root_alone(int fd);

/**
 * Finds what only root may change: the file, and each folder on the way to it.
 * @return nothing if it does not exist
 * @throws Error (Host) that names what others may change; Error as Sysroot::find()
 */
std::optional<ResolvedPath> find_of_root_alone(const Sysroot &sysroot, const std::string &path);

} // namespace ogh
