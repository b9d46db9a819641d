// SPDX-License-Identifier: Apache-2.0
#include "cdi/version.h"

#include <algorithm>
#include <string>
#include <utility>

namespace ogh::cdi {

std::optional<Version> parse_version(std::string_view text)
{
    constexpr auto versions = std::to_array<std::pair<std::string_view, Version>>({{"0.3.0", v0_3},
                                                                                   {"0.4.0", v0_4},
                                                                                   {"0.5.0", v0_5},
                                                                                   {"0.6.0", v0_6},
                                                                                   {"0.7.0", v0_7},
                                                                                   {"0.8.0", {0, 8, 0}},
                                                                                   {"1.0.0", {1, 0, 0}},
                                                                                   {"1.1.0", v1_1}});
    if (text.starts_with('v'))
        text.remove_prefix(1);
    const auto *const known = std::find_if(versions.begin(), versions.end(),
                                           [&](const auto &version) { return version.first == text; });
    return known == versions.end() ? std::nullopt : std::optional(known->second);
}

} // namespace ogh::cdi
