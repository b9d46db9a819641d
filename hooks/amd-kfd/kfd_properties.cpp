// SPDX-License-Identifier: Apache-2.0
#include "amd-kfd/kfd_properties.h"

#include <array>
#include <limits>

#include "base/number.h"

namespace ogh::amd_kfd {

namespace {

constexpr unsigned first_render_minor = 128; // lower ones are cards
constexpr unsigned last_minor = 0xFFFFF;

struct Key {
    std::string_view name;
    std::uint64_t KfdProperties::*value;
};

constexpr std::array<Key, 7> keys{{
    {"simd_count", &KfdProperties::simd_count},
    {"cpu_cores_count", &KfdProperties::cpu_cores_count},
    {"mem_banks_count", &KfdProperties::mem_banks_count},
    {"local_mem_size", &KfdProperties::local_mem_size},
    {"unique_id", &KfdProperties::unique_id},
    {"location_id", &KfdProperties::location_id},
    {"domain", &KfdProperties::domain},
}};

void set(KfdProperties &properties, std::string_view name, std::uint64_t value)
{
    for (const Key &key : keys) {
        if (key.name == name)
            properties.*key.value = value;
    }
    if (name == "gfx_target_version" && value <= std::numeric_limits<unsigned>::max())
        properties.gfx.number = static_cast<unsigned>(value);
    if (name == "drm_render_minor" && value >= first_render_minor && value <= last_minor)
        properties.render_minor = static_cast<unsigned>(value);
}

} // namespace

KfdProperties parse_kfd_properties(std::string_view text)
{
    KfdProperties properties;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        const size_t blank = line.find(' ');
        const auto value =
            blank == std::string_view::npos ? std::nullopt : parse_number(line.substr(blank + 1));
        if (value)
            set(properties, line.substr(0, blank), *value);
        text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
    }
    return properties;
}

PciAddress parent_address(const KfdProperties &properties)
{
    return {static_cast<std::uint32_t>(properties.domain),
            static_cast<std::uint8_t>(properties.location_id >> 8U & 0xFFU),
            static_cast<std::uint8_t>(properties.location_id >> 3U & 0x1FU), 0};
}

unsigned partition_number(const KfdProperties &properties)
{
    return static_cast<unsigned>(properties.location_id & 7U);
}

} // namespace ogh::amd_kfd
