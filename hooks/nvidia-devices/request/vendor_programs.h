// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace ogh::nvidia_devices {

/** The vendor's own hook. The second is what it was called before, and a symlink to it since. */
constexpr std::array<std::string_view, 2> vendor_hooks{"nvidia-container-runtime-hook",
                                                       "nvidia-container-toolkit"};

/** What its specifications have a container call besides. */
constexpr std::array<std::string_view, 2> vendor_cdi_hooks{"nvidia-cdi-hook", "nvidia-ctk"};

/** Whether the last name of a path is one of these. */
constexpr bool is_one_of(std::string_view path, const std::array<std::string_view, 2> &programs)
{
    const std::string_view name = path.substr(path.rfind('/') + 1); // npos + 1 is 0
    return std::find(programs.begin(), programs.end(), name) != programs.end();
}

} // namespace ogh::nvidia_devices
