// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "nvidia-devices/request/capability_bits.h"

namespace ogh::nvidia_devices {

/** A program, found in the folders for programs. */
struct ProgramName {
    std::string_view name;
    CapabilityBits brought_by;
};

std::span<const ProgramName> program_names();

/** Where programs are looked for, in this order. */
std::span<const char *const> program_folders();

/** A file that tells a loader about the driver, or holds data for one. */
struct ConfigName {
    std::string_view path; ///< below the folders for such files, and below the tree's share: "vulkan/icd.d/…"
    std::string_view standard_base; ///< below which programs look for it: "/etc"
    CapabilityBits brought_by;
};

std::span<const ConfigName> config_names();

/** Where such files are looked for, in this order. */
std::span<const char *const> config_folders();

/** Sockets of the driver's daemons, below /run. Utility brings them. */
std::span<const std::string_view> socket_names();

} // namespace ogh::nvidia_devices
