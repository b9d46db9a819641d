// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "nvidia-devices/request/capabilities.h"

namespace ogh::nvidia_devices {

/** What a container's tree was made for; it is kept in the tree for a later request for the same container. */
struct Given {
    Capabilities capabilities;
    std::set<unsigned> minors = {}; ///< of /dev/nvidiaN; only where the tree depends on them

    bool operator==(const Given &) const = default;
};

/** Both. */
Given joined(const Given &one, const Given &other);

/** For the tree. */
std::string to_text(const Given &given);

/** @return nothing if it is none of ours */
std::optional<Given> parse_given(std::string_view text);

} // namespace ogh::nvidia_devices
