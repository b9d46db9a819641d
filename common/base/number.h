// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ogh {

/** The whole text as a number: digits alone, no sign, no blank; leading zeros are allowed. Nothing if it is none. */
std::optional<std::uint64_t> parse_number(std::string_view text, int base = 10);

/** As above, and nothing if it is above `limit`. */
std::optional<unsigned> parse_small_number(std::string_view text, unsigned limit);

/** In hexadecimal, with small letters, and zeros in front if it has fewer than `digits`, of which there are 1 to 16. */
std::string hexadecimal(std::uint64_t number, size_t digits);

} // namespace ogh
