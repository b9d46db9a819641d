// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include "nvidia-devices/request/capabilities.h"

namespace ogh::nvidia_devices {

/** A set of capabilities, a bit each, so that tables of them are constants. */
class CapabilityBits final {
public:
    constexpr CapabilityBits() = default;
    constexpr CapabilityBits(std::initializer_list<Capability> list)
    {
        for (const Capability capability : list)
            bits_ |= bit(capability);
    }

    [[nodiscard]] constexpr bool has(Capability capability) const { return (bits_ & bit(capability)) != 0; }
    [[nodiscard]] constexpr bool has_any(CapabilityBits of) const { return (bits_ & of.bits_) != 0; }
    [[nodiscard]] constexpr bool is_empty() const { return bits_ == 0; }

    constexpr void add(Capability capability) { bits_ |= bit(capability); }
    constexpr void remove(Capability capability) { bits_ &= ~bit(capability); }

    bool operator==(const CapabilityBits &) const = default;

private:
    static constexpr unsigned bit(Capability capability) { return 1U << static_cast<unsigned>(capability); }

    unsigned bits_ = 0;
};

// What brings a file, in the words of NVIDIA_DRIVER_CAPABILITIES: video needs what compute has beside its programs, and
// display is graphics and more.
inline constexpr CapabilityBits for_compute{Capability::Compute, Capability::Video};
inline constexpr CapabilityBits for_graphics{Capability::Graphics, Capability::Display};
inline constexpr CapabilityBits for_compute_and_graphics{Capability::Compute, Capability::Video,
                                                         Capability::Graphics, Capability::Display};

} // namespace ogh::nvidia_devices
