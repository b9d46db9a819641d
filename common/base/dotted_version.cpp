// SPDX-License-Identifier: Apache-2.0
#include "base/dotted_version.h"

#include "base/number.h"

namespace ogh {

std::optional<DottedVersion> DottedVersion::parse(std::string_view text, size_t most)
{
    DottedVersion version;
    for (size_t i = 0; i < std::min(most, max_parts); ++i) {
        const size_t dot = text.find('.');
        const auto part = parse_number(text.substr(0, dot));
        if (!part)
            return std::nullopt;
        version.parts_.at(i) = *part;
        if (dot == std::string_view::npos)
            return version;
        text.remove_prefix(dot + 1);
    }
    return std::nullopt;
}

std::optional<DottedVersion> DottedVersion::parse_start(std::string_view text)
{
    text = text.substr(0, text.find_first_not_of("0123456789."));
    if (text.ends_with('.'))
        text.remove_suffix(1);
    return text.find('.') == std::string_view::npos ? std::nullopt : parse(text);
}

std::string DottedVersion::text() const
{
    size_t size = max_parts;
    while (size > 2 && parts_.at(size - 1) == 0)
        --size;
    std::string text;
    for (size_t i = 0; i < size; ++i)
        text += (i == 0 ? "" : ".") + std::to_string(parts_.at(i));
    return text;
}

bool is_driver_version(std::string_view text)
{
    constexpr size_t most = 3;
    return text.find('.') != std::string_view::npos && DottedVersion::parse(text, most);
}

} // namespace ogh
