// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ogh::admin {

/** The first two numbers of a version. */
struct VersionNumber {
    std::uint64_t major;
    std::uint64_t minor;

    auto operator<=>(const VersionNumber &) const = default;
};

/** "6.1.0-39-amd64", "v0.5.0"; nothing if it does not begin with two numbers. */
std::optional<VersionNumber> parse_version(std::string_view text);

} // namespace ogh::admin
