// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ogh::nvidia_devices {

/** Which kernel module is loaded. */
struct DriverVersion {
    std::string version;         ///< "555.42.07"; the driver's libraries end in it
    bool is_open_module = false; ///< NVIDIA's open module, and not the closed one

    bool operator==(const DriverVersion &) const = default;
};

/**
 * Understands /proc/driver/nvidia/version of the closed and of the open module: the first two or three numbers with
 * dots between them that follow "Kernel Module".
 * @return nothing if it has no such number
 */
std::optional<DriverVersion> parse_driver_version(std::string_view text);

} // namespace ogh::nvidia_devices
