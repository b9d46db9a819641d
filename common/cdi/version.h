// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace ogh::cdi {

/** A version of the specification of CDI. */
using Version = std::array<unsigned, 3>;

constexpr Version v0_3{0, 3, 0};
constexpr Version v0_4{0, 4, 0};
constexpr Version v0_5{0, 5, 0};
constexpr Version v0_6{0, 6, 0};
constexpr Version v0_7{0, 7, 0};
constexpr Version v1_1{1, 1, 0};

/**
 * "0.6.0", perhaps with a `v` in front; nothing if there is no such version. 0.3.0 is the first one: the reference
 * implementation knows two before it, and says of whatever has them that it should have 0.3.0.
 */
std::optional<Version> parse_version(std::string_view text);

} // namespace ogh::cdi
