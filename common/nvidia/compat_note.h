// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

namespace ogh {

/**
 * The major versions of drivers that a libcuda for forward compatibility says it works with: member "Driver" of the
 * JSON in the note of its section `.note.cuda.fwd_compatibility`, whose owner is "NVIDIA Corporation" (as NVIDIA's
 * toolkit reads it). It is read with pread(2), never more than 128 KiB in all.
 * @param fd of the library, hostile; not O_PATH
 * @return nothing if it is no 64-bit library, has no such note, or one that cannot be understood
 */
std::optional<std::vector<unsigned>> read_compat_note(int fd);

} // namespace ogh
