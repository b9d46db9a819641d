// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/device_number.h"

namespace ogh::amd_kfd {

// Files of sysfs, of which dozens are read for each container: no path is walked more than once, and no descriptor
// asked what it is. Symlinks on the way are followed; the kernel's own are relative and stay in sysfs.

/** A file that may be kept from this process. */
struct SysfsFile {
    enum class State {
        Read,
        Missing, ///< or its device goes away at this moment
        Hidden,  ///< KFD gives EPERM for the GPUs that the process's device cgroup does not let it open
    };

    State state = State::Missing;
    std::string text = {}; ///< without the newline at its end

    bool operator==(const SysfsFile &) const = default;
};

/** What it means that a file could not be opened or read; nothing for an error that is the host's. */
std::optional<SysfsFile::State> state_of_error(int error_number);

/**
 * @param directory descriptor of a directory, O_PATH is enough
 * @param path relative to it
 * @param what names `directory` in messages, unquoted
 * @throws Error (BrokenHost) for every other error, and for a file larger than sysfs has any
 */
SysfsFile read_sysfs_file(int directory, const std::string &path, const std::string &what);

/**
 * Reads a `dev` file, "226:129".
 * @return nothing if there is none
 * @throws Error (BrokenHost) also if it holds anything else
 */
std::optional<DeviceNumber> read_device_number(int directory, const std::string &path,
                                               const std::string &what);

} // namespace ogh::amd_kfd
