// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "request/request.h"

namespace ogh::ldcache_update {

/** The directories whose libraries a container's loader shall find. */
struct LibraryRequest {
    bool automatic = false; ///< those that the other hooks have put in
    std::vector<std::string>
        directories; ///< absolute inside the container, no `/` at the end; in order, none twice

    bool operator==(const LibraryRequest &) const = default;
};

/**
 * Understands `none`, or `auto` and absolute directories, separated by commas; blanks and repeats are allowed.
 * @param further of the host's policy (--directory); they go last, and do not count with `none`
 * @throws Error (Usage) for a directory that is not absolute, is the root or has an empty, `.` or `..` component, for
 *         more than max_directories, and for `none` beside others
 */
LibraryRequest parse_library_request(const RequestValue &asked, const std::vector<std::string> &further);

/** More make no sense, and each is compared with every entry of a cache. */
constexpr size_t max_directories = 256;

} // namespace ogh::ldcache_update
