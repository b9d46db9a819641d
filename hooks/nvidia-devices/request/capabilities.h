// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oci/config.h"
#include "request/request.h"

namespace ogh::nvidia_devices {

/** What a container wants of the driver, in the words of NVIDIA_DRIVER_CAPABILITIES and, from Gds on, of this hook. */
enum class Capability {
    Compute,
    Utility,
    Video,
    Graphics,
    Display,
    Ngx,
    Compat32,
    Gds,
    Gdrcopy,
    Mofed,
};

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

    constexpr CapabilityBits operator|(CapabilityBits others) const
    {
        return CapabilityBits(bits_ | others.bits_);
    }
    constexpr CapabilityBits operator&(CapabilityBits others) const
    {
        return CapabilityBits(bits_ & others.bits_);
    }
    constexpr CapabilityBits operator-(CapabilityBits others) const
    {
        return CapabilityBits(bits_ & ~others.bits_);
    }

    bool operator==(const CapabilityBits &) const = default;

private:
    constexpr explicit CapabilityBits(unsigned bits) : bits_(bits) {}
    static constexpr unsigned bit(Capability capability) { return 1U << static_cast<unsigned>(capability); }

    unsigned bits_ = 0;
};

/** What `all` means. */
inline constexpr CapabilityBits meant_by_all{Capability::Compute,  Capability::Utility, Capability::Video,
                                             Capability::Graphics, Capability::Display, Capability::Ngx,
                                             Capability::Compat32};

/** A list of capabilities. */
struct Capabilities {
    CapabilityBits named;         ///< each must be given
    bool all = false;             ///< meant_by_all as well, as far as this host has them
    CapabilityBits withheld = {}; ///< those of `all` that the host's policy does not hand out

    /** What is asked for, one way or the other. */
    [[nodiscard]] CapabilityBits asked() const { return all ? named | (meant_by_all - withheld) : named; }

    [[nodiscard]] bool has(Capability capability) const { return asked().has(capability); }
    [[nodiscard]] bool has_any(CapabilityBits of) const { return asked().has_any(of); }

    bool operator==(const Capabilities &) const = default;
};

// What brings a file, in the words of NVIDIA_DRIVER_CAPABILITIES: video needs what compute has beside its programs, and
// display is graphics and more.
inline constexpr CapabilityBits for_compute{Capability::Compute, Capability::Video};
inline constexpr CapabilityBits for_graphics{Capability::Graphics, Capability::Display};
inline constexpr CapabilityBits for_compute_and_graphics{Capability::Compute, Capability::Video,
                                                         Capability::Graphics, Capability::Display};

/** The word for it in a list. */
std::string_view name_of(Capability capability);

/** The words for each, in the order of the enumeration. */
std::vector<std::string> names_of(CapabilityBits capabilities);

/** As a list that parse_capabilities() understands, without what is withheld; "" for none. */
std::string to_text(const Capabilities &capabilities);

/** Those of a container that names none: compute and utility, as with NVIDIA's toolkit. */
Capabilities default_capabilities();

/**
 * Understands a list, separated by commas, of capabilities and `all`. Blanks around items and repeats are allowed.
 * @throws Error (Usage) that says what it takes
 */
Capabilities parse_capabilities(const RequestValue &asked);

/**
 * Understands --allow-capabilities, as the host or a line of the key file has it: such a list, or `none`.
 * @throws Error (Usage)
 */
Capabilities parse_allowed_capabilities(const RequestValue &list);

/**
 * What the host's policy leaves of `wanted`: all that is named, and of `all` what it hands out.
 * @param allowed nothing: all
 * @throws Error (Denied) for one that is named, or if nothing is left
 */
Capabilities permitted(const Capabilities &wanted, const std::optional<Capabilities> &allowed);

/**
 * What the environment asks of NVIDIA's toolkit: NVIDIA_DRIVER_CAPABILITIES, which knows Compute to Compat32 alone, and
 * `enabled` in NVIDIA_GDS, NVIDIA_GDRCOPY and NVIDIA_MOFED. Empty items are dropped. If nothing is left it is the default, and if there is no such variable, `all` in a CUDA image from before NVIDIA_REQUIRE_CUDA.
 * @throws Error (Usage)
 */
Capabilities capabilities_of_environment(const Config &config);

} // namespace ogh::nvidia_devices
