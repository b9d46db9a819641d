// SPDX-License-Identifier: Apache-2.0
#include "base/device_number.h"

#include "base/number.h"

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

} // namespace ogh
