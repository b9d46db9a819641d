// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config.h"
#include "request.h"

namespace ogh::nvidia_devices {

/** What a container wants of the driver, in the words of NVIDIA_DRIVER_CAPABILITIES and, from Gds on, of our own. */
enum class Capability {
    Compute,
    Utility,
    Video,
    Graphics,
    Display,
    Ngx,
    Compat32, ///< the last that `all` means
    Gds,
    Gdrcopy,
    Mofed,
    Nvswitch,
};

/** A list of capabilities. */
struct Capabilities {
    std::set<Capability> named; ///< each must be had
    bool all = false;           ///< Compute to Compat32 as well, as far as this host has them

    [[nodiscard]] bool has(Capability capability) const
    {
        return named.contains(capability) || (all && capability <= Capability::Compat32);
    }

    bool operator==(const Capabilities &) const = default;
};

/** The word for it in a list. */
std::string_view name_of(Capability capability);

/** As a list that parse_capabilities() understands; "" for none. */
std::string to_text(const Capabilities &capabilities);

/** Those of a container that names none: compute and utility, as with NVIDIA's toolkit. */
Capabilities default_capabilities();

/**
 * Understands a list, separated by commas, of capabilities and `all`. Blanks around items and repeats are allowed.
 * @throws Error (Usage) that says what it takes
 */
Capabilities parse_capabilities(const Asked &asked);

/**
 * What the environment asks of NVIDIA's toolkit: NVIDIA_DRIVER_CAPABILITIES, which knows Compute to Compat32 alone, and
 * `enabled` in NVIDIA_GDS, NVIDIA_GDRCOPY, NVIDIA_MOFED and NVIDIA_NVSWITCH. Empty items are dropped. If nothing is
 * left it is the default, and if there is no such variable, `all` in a CUDA image from before NVIDIA_REQUIRE_CUDA.
 * @throws Error (Usage)
 */
Capabilities capabilities_of_environment(const Config &config);

} // namespace ogh::nvidia_devices
