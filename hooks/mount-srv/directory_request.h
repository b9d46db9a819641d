// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "request/request.h"

namespace ogh::mount_srv {

/** Which directories a container asks for. */
struct DirectoryRequest {
    bool all = false;
    std::set<std::string> names;
    std::set<std::string> read_only; ///< those of `names` that were asked for as `name:ro`
    bool all_read_only = false;      ///< `all:ro`

    bool operator==(const DirectoryRequest &) const = default;
};

/**
 * Understands `none`, or `all` or `NAME[:ro],...`; blanks around names and repeats are allowed, `:ro` wins over none.
 * @throws Error (Usage) for an empty name, `.`, `..`, a `/` or a NUL, and for `none` beside others
 */
DirectoryRequest parse_directory_request(const RequestValue &asked);

} // namespace ogh::mount_srv
