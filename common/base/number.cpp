// SPDX-License-Identifier: Apache-2.0
#include "base/number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

namespace ogh {

std::optional<DeviceNumber> parse_device_number(std::string_view text)
{
    if (text.ends_with('\n'))
        text.remove_suffix(1);
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos)
        return std::nullopt;
    const auto major_number = parse_small_number(text.substr(0, colon), max_major);
    const auto minor_number = parse_small_number(text.substr(colon + 1), max_minor);
    if (!major_number || !minor_number)
        return std::nullopt;
    return DeviceNumber{*major_number, *minor_number};
}

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
    std::array<char, 16> text{};
    const std::string_view found(text.data(),
                                 std::to_chars(text.data(), text.data() + text.size(), number, 16).ptr);
    return std::string(digits - std::min(digits, found.size()), '0').append(found);
}

} // namespace ogh
