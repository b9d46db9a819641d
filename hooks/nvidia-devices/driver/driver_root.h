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
 * Where the driver's files are. It is asked for many names that mostly are not there, so that a name which is missing
 * costs one system call.
 */
class DriverRoot final {
public:
    /** @param sysroot must outlive this */
    explicit DriverRoot(const Sysroot &sysroot);

    /**
     * What an absolute path leads to; symlinks are followed below the root.
     * @return nothing if nothing is there, or nothing that this process can reach
     * @throws Error if looking itself fails
     */
    [[nodiscard]] std::optional<DriverEntry> find(const std::string &path) const;

    /** The same, if it is a plain file. */
    [[nodiscard]] std::optional<DriverEntry> find_file(const std::string &path) const;

    /** Opens a file for reading; an invalid descriptor if that cannot be done, for a reason that errno has. */
    [[nodiscard]] UniqueFd open_file(const std::string &path) const;

    /** As this process names it. */
    [[nodiscard]] std::string on_host(const std::string &path) const { return sysroot_.on_host(path); }

    [[nodiscard]] const Sysroot &sysroot() const { return sysroot_; }

private:
    const Sysroot &sysroot_;
    UniqueFd fd_;
};

/** Whether a file may bear this name in the tree: letters, digits and `._+-`, and not just dots. */
bool is_plain_name(std::string_view name);

} // namespace ogh::nvidia_devices
