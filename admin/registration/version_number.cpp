// SPDX-License-Identifier: Apache-2.0
#include "registration/version_number.h"

#include "base/number.h"

namespace ogh::admin {

std::optional<VersionNumber> parse_version(std::string_view text)
{
    if (text.starts_with('v'))
        text.remove_prefix(1);
    const size_t dot = text.find('.');
    if (dot == std::string_view::npos)
        return std::nullopt;
    const std::string_view rest = text.substr(dot + 1);
    const auto major = parse_number(text.substr(0, dot));
    const auto minor = parse_number(rest.substr(0, rest.find_first_not_of("0123456789")));
    return major && minor ? std::optional(VersionNumber{*major, *minor}) : std::nullopt;
}

} // namespace ogh::admin
