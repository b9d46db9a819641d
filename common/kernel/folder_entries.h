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
struct FolderEntry {
    std::string name;
    unsigned char type = 0; ///< DT_*, of the entry itself: a symlink is not followed
};

/** What list_folder() is asked for. */
struct FolderListing {
    std::string what;                                ///< names the directory in messages
    std::function<bool(std::string_view)> is_wanted; ///< the others are not kept
    size_t limit = 0;                                ///< how many may be kept; 0: any number
    ErrorKind kind = ErrorKind::Failure;             ///< of the errors
};

/**
 * The entries of an open directory (O_PATH will do) that are wanted, sorted by name.
 * @throws Error if it cannot be read, or has more than the limit
 */
std::vector<FolderEntry> list_folder(int folder, const FolderListing &listing);

} // namespace ogh
