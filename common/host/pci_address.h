// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace ogh {

/** Where a device sits on the PCI buses; ordered as nvidia-smi, rocm-smi and lspci count. */
struct PciAddress {
    std::uint32_t domain = 0;
    std::uint8_t bus = 0;
    std::uint8_t device = 0;   ///< 0 to 31
    std::uint8_t function = 0; ///< 0 to 7

    bool operator==(const PciAddress &) const = default;
    bool operator<(const PciAddress &other) const
    {
        return std::tie(domain, bus, device, function) <
               std::tie(other.domain, other.bus, other.device, other.function);
    }
};

enum class PciDomain {
    Required,
    Optional ///< `5e:00.0` lies in domain 0
};

/**
 * Understands `DOMAIN:BUS:DEVICE.FUNCTION` in hexadecimal of either case. The kernel writes the domain with at least
 * four digits, and more where it has to; nvidia-smi and some of NVIDIA's drivers write eight.
 * @return nothing if the text is anything else
 */
std::optional<PciAddress> parse_pci_address(std::string_view text, PciDomain domain = PciDomain::Required);

/** As the kernel names the device in sysfs: lower case, at least four digits of domain. */
std::string to_text(const PciAddress &address);

} // namespace ogh
