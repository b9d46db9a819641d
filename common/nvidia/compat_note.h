// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ogh {

/** What a libcuda for forward compatibility says of itself, in the words of NVIDIA's toolkit (cuda-elf-header.go). */
struct CompatNote {
    std::vector<unsigned> drivers; ///< "Driver": the major versions of drivers that it works with
    std::string cuda;              ///< "CUDA Version": "12.9"; "" if it does not say

    bool operator==(const CompatNote &) const = default;
};

/**
 * Reads it: the JSON in the note of its section `.note.cuda.fwd_compatibility`, whose owner is "NVIDIA Corporation". It
 * is read with pread(2), never more than 128 KiB in all.
 * @param fd of the library, hostile; not O_PATH
 * @return nothing if it is no 64-bit library, has no such note, or one that cannot be understood or has neither member
 */
std::optional<CompatNote> read_compat_note(int fd);

} // namespace ogh
