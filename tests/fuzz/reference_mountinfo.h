// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ogh::fuzz {

/** One line of mountinfo, as far as the hooks use it. */
struct Mount {
    std::uint64_t id = 0;
    unsigned major = 0;
    unsigned minor = 0;
    std::string target;
    bool shared = false;
};

/**
 * The mounts of a table that is exactly as the kernel writes it (show_mountinfo() in fs/proc_namespace.c), of equal
 * ids only the first. Nothing if a single line is not: libmount is free to read such a table as it likes.
 */
std::vector<Mount> mounts_as_the_kernel_writes(std::string_view text);

} // namespace ogh::fuzz
