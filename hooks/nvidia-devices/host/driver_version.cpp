// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/host/driver_version.h"

#include <algorithm>

#include "base/dotted_version.h"
#include "base/text.h"

namespace ogh::nvidia_devices {

namespace {

constexpr std::string_view module_text = "Kernel Module";

} // namespace

std::optional<DriverVersion> parse_driver_version(std::string_view text)
{
    const std::string_view line = text.substr(0, text.find('\n'));
    const size_t module = line.find(module_text);
    if (module == std::string_view::npos)
        return std::nullopt;
    const auto words = split_list(line.substr(module + module_text.size()), ' ');
    const auto version = std::find_if(words.begin(), words.end(), is_driver_version);
    if (version == words.end())
        return std::nullopt;
    return DriverVersion{*version, trimmed(line.substr(0, module)).ends_with(" Open")};
}

} // namespace ogh::nvidia_devices
