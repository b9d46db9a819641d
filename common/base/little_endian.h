// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace ogh {

/** The number that stands at `at`, lowest byte first. The bytes must be there; any alignment will do. */
template<std::unsigned_integral Number> Number load_little_endian(std::string_view bytes, size_t at)
{
    std::array<char, sizeof(Number)> digits{};
    std::copy_n(bytes.data() + at, digits.size(), digits.begin());
    if constexpr (std::endian::native == std::endian::big)
        std::reverse(digits.begin(), digits.end());
    return std::bit_cast<Number>(digits);
}

/** Puts the number behind what `bytes` has, lowest byte first. */
template<std::unsigned_integral Number> void append_little_endian(std::string &bytes, Number number)
{
    auto digits = std::bit_cast<std::array<char, sizeof(Number)>>(number);
    if constexpr (std::endian::native == std::endian::big)
        std::reverse(digits.begin(), digits.end());
    bytes.append(digits.data(), digits.size());
}

} // namespace ogh
