// SPDX-License-Identifier: Apache-2.0
#include "base/number.h"

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

} // namespace ogh
