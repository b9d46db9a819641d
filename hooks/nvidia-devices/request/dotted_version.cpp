// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/request/dotted_version.h"

#include "base/number.h"

namespace ogh::nvidia_devices {

std::optional<DottedVersion> DottedVersion::parse(std::string_view text)
{
    DottedVersion version;
    for (bool is_last = false; !is_last;) {
        const size_t dot = text.find('.');
        const auto part = parse_number(text.substr(0, dot));
        if (!part)
            return std::nullopt;
        version.parts_.push_back(*part);
        is_last = dot == std::string_view::npos;
        if (!is_last)
            text.remove_prefix(dot + 1);
    }
    version.drop_zeros();
    return version;
}

std::string DottedVersion::text() const
{
    std::string text;
    for (size_t i = 0; i < parts_.size() || i < 2; ++i)
        text += (i == 0 ? "" : ".") + std::to_string(i < parts_.size() ? parts_[i] : 0);
    return text;
}

void DottedVersion::drop_zeros()
{
    while (!parts_.empty() && parts_.back() == 0)
        parts_.pop_back();
}

} // namespace ogh::nvidia_devices
