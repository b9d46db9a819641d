// SPDX-License-Identifier: Apache-2.0
#include "host/pci_address.h"

#include "base/number.h"

namespace ogh {

namespace {

constexpr std::string_view short_form = "BB:DD.F";

std::optional<std::uint64_t> hex(std::string_view digits, std::uint64_t limit)
{
    const auto number = parse_number(digits, 16);
    return number && *number <= limit ? number : std::nullopt;
}

std::optional<std::uint64_t> parse_domain(std::string_view digits)
{
    return digits.size() >= 4 && digits.size() <= 8 ? hex(digits, 0xFFFFFFFF) : std::nullopt;
}

} // namespace

std::optional<PciAddress> parse_pci_address(std::string_view text, PciDomain domain_rule)
{
    std::optional<std::uint64_t> domain = 0;
    if (text.size() > short_form.size()) {
        const size_t colon = text.size() - short_form.size() - 1;
        domain = text[colon] == ':' ? parse_domain(text.substr(0, colon)) : std::nullopt;
        text.remove_prefix(colon + 1);
    } else if (domain_rule == PciDomain::Required) {
        return std::nullopt;
    }
    if (text.size() != short_form.size() || text[2] != ':' || text[5] != '.')
        return std::nullopt;
    const auto bus = hex(text.substr(0, 2), 0xFF);
    const auto device = hex(text.substr(3, 2), 31);
    const auto function = hex(text.substr(6, 1), 7);
    if (!domain || !bus || !device || !function)
        return std::nullopt;
    return PciAddress{static_cast<std::uint32_t>(*domain), static_cast<std::uint8_t>(*bus),
                      static_cast<std::uint8_t>(*device), static_cast<std::uint8_t>(*function)};
}

std::string to_text(const PciAddress &address)
{
    return hexadecimal(address.domain, 4) + ":" + hexadecimal(address.bus, 2) + ":" +
           hexadecimal(address.device, 2) + "." + hexadecimal(address.function, 1);
}

} // namespace ogh
