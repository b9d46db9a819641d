// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace ogh {

/** A name in a directory. */
struct DirectoryEntry {
    std::string name;
    unsigned char type = 0; ///< DT_*, of the entry itself: a symlink is not followed
};

/** What list_directory() is asked for. */
struct DirectoryListing {
    std::string what;                                ///< names the directory in messages
    std::function<bool(std::string_view)> is_wanted; ///< the others are not kept; empty: all but "." and ".."
    size_t limit = 0;                                ///< how many may be kept; 0: any number
    ErrorKind kind = ErrorKind::Failure;             ///< of the errors
};

/**
 * The entries of an open directory (O_PATH will do) that are wanted, sorted by name.
 * @throws Error if it cannot be read, or has more than the limit
 */
std::vector<DirectoryEntry> list_directory(int directory, const DirectoryListing &listing);

} // namespace ogh
