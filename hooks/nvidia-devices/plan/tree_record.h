// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "nvidia-devices/request/capabilities.h"

namespace ogh::nvidia_devices {

/** What a container's tree was made for; it is kept in the tree for a later request for the same container. */
struct TreeRecord {
    Capabilities capabilities;
    std::set<unsigned> minors = {}; ///< of /dev/nvidiaN; only where the tree depends on them

    bool operator==(const TreeRecord &) const = default;
};

/** Both. */
TreeRecord joined(const TreeRecord &one, const TreeRecord &other);

/** For the tree. */
std::string to_text(const TreeRecord &record);

/** @return nothing if it is no such record */
std::optional<TreeRecord> parse_tree_record(std::string_view text);

} // namespace ogh::nvidia_devices
