// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "host/sysroot.h"

namespace ogh::nvidia_devices {

/** Where the driver is. */
struct DriverPlaces {
    const Sysroot &sysroot; ///< the host: the driver's nodes, /proc and /sys
    std::string root;       ///< --driver-root: its files, below the sysroot
};

/** Where its files are. @throws Error: Usage for what is not absolute; BrokenHost if there is no such directory */
Sysroot open_driver_root(const DriverPlaces &places);

/** Something that was found: where it is, without symlinks, and what it is. */
struct DriverEntry {
    ResolvedPath place;
    mode_t mode = 0; ///< type and permissions
};

/**
 * What an absolute path below the driver's root leads to.
 * @return nothing if nothing is there, or nothing that this process can reach
 * @throws Error if looking itself fails
 */
std::optional<DriverEntry> find_entry(const Sysroot &root, const std::string &path);

/** The same, if it is a plain file. */
std::optional<DriverEntry> find_file(const Sysroot &root, const std::string &path);

/** Whether a file may bear this name in the tree: letters, digits and `._+-`, and not just dots. */
bool is_plain_name(std::string_view name);

} // namespace ogh::nvidia_devices
