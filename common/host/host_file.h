// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "host/sysroot.h"

namespace ogh {

// Small files of the host: what drivers say in /proc and /sys.

/**
 * @param directory descriptor of a directory, O_PATH is enough
 * @param path relative to it, without symlinks at its end
 * @param limit in bytes
 * @param what names the file in messages
 * @return nothing if it does not exist
 * @throws Error (BrokenHost) if it cannot be read, is no plain file, or is larger than `limit`
 */
std::optional<std::string> read_file_in(int directory, const std::string &path, size_t limit,
                                        const std::string &what);

/** The same for a path below the sysroot; the directory may be a symlink. */
std::optional<std::string> read_host_file(const Sysroot &sysroot, const std::string &path, size_t limit);

/**
 * Opens for reading what was found below the sysroot, below it again. Not blocking: a FIFO must not hold up the start of a
 * container.
 * @return an invalid descriptor if that cannot be done, or if a symlink is there now
 */
UniqueFd open_host_file(const Sysroot &sysroot, const ResolvedPath &place);

/** The name of what a symlink leads to, such as "0000:0d:00.0" of "device"; "" if there is no such symlink. */
std::string linked_name(int directory, const std::string &path);

} // namespace ogh
