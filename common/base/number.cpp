// SPDX-License-Identifier: Apache-2.0
#include "base/number.h"

#include <array>
#include <charconv>
#include <system_error>

namespace ogh {

std::optional<std::uint64_t> parse_number(std::string_view text, int base)
{
    std::uint64_t number = 0;
    const char *const end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, number, base);
    if (result.ec != std::errc() || result.ptr != end)
        return std::nullopt;
    return number;
}

std::optional<unsigned> parse_small_number(std::string_view text, unsigned limit)
{
    const auto number = parse_number(text);
    if (!number || *number > limit)
        return std::nullopt;
    return static_cast<unsigned>(*number);
}

std::string hexadecimal(std::uint64_t number, size_t digits)
{
    constexpr std::string_view letters = "0123456789abcdef";
    std::array<char, 16> text{};
    char *const end = text.data() + text.size();
    char *begin = end;
    for (size_t left = digits; begin != text.data() && (number != 0 || left != 0); number >>= 4U) {
        *--begin = letters[number & 0xFU];
        left -= left == 0 ? 0 : 1;
    }
    return {begin, end};
}

} // namespace ogh
