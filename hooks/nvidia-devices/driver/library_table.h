// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "nvidia-devices/request/capabilities.h"

namespace ogh::nvidia_devices {

/** Where a library has its version from. */
enum class LibraryVersion {
    Driver, ///< the driver's: "libcuda" is libcuda.so.555.42.07
    Own,    ///< one of its own; it is known by its SONAME: "libnvidia-egl-gbm.so.1"
};

/** A library of the driver. */
struct LibraryName {
    std::string_view name;
    CapabilityBits brought_by;
    LibraryVersion version = LibraryVersion::Driver;
    std::string_view subdirectory =
        {}; ///< below the directory of the others, where some hosts have it; "" if none
    /**
     * Another one in whose place old drivers have it: those from before libglvnd, and 470, whose libnvidia-nvvm has a
     * version of its own. It is taken only where that one is not there: else it would hide libglvnd's own of the same
     * SONAME, or be the same file once more.
     */
    std::string_view instead_of = {};
};

/**
 * The libraries that are known by name, in the order in which they are listed. Others of the driver go with each capability,
 * see LibrarySearch::others().
 */
std::span<const LibraryName> library_names();

/** What a capability cannot work without. */
struct CapabilityNeed {
    Capability capability = {};
    std::array<std::string_view, 2> any_of; ///< of library_names(); the second may be ""
};

/** In the order of the capabilities; Compat32 is not among them, any library is enough for it. */
std::span<const CapabilityNeed> capability_needs();

} // namespace ogh::nvidia_devices
