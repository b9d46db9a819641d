// SPDX-License-Identifier: Apache-2.0
#include "amd-kfd/gfx_version.h"

#include <array>

#include "base/contains.h"
#include "base/number.h"

namespace ogh::amd_kfd {

namespace {

constexpr std::array<unsigned, 15> integrated{
    70000,  80001,  80100,          // Kaveri, Carrizo, Stoney
    90002,  90009,  90012,          // Raven, Raven 2, Renoir and Cezanne
    100103, 100303, 100305, 100306, // Cyan Skillfish, Van Gogh, Rembrandt, Raphael
    110003, 110500, 110501, 110502, // Phoenix, Strix Point, Strix Halo, Krackan
    110503,
};

struct Override {
    unsigned first;
    unsigned last;
    const char *value;
};

constexpr std::array<Override, 3> overrides{{{100301, 100306, "10.3.0"}, // Navi 2x; gfx1030 itself needs none
                                             {110003, 110003, "11.0.0"},
                                             {110500, 110500, "11.5.1"}}};

} // namespace

std::string name_of(GfxVersion version)
{
    if (version.number == 0)
        return "";
    return "gfx" + std::to_string(version.number / 10000) + hexadecimal(version.number / 100 % 100, 1) +
           hexadecimal(version.number % 100, 1);
}

bool is_integrated(GfxVersion version)
{
    return contains(integrated, version.number);
}

std::string override_text(GfxVersion version)
{
    for (const Override &each : overrides) {
        if (version.number >= each.first && version.number <= each.last)
            return std::string(override_variable) + "=" + each.value;
    }
    return "";
}

} // namespace ogh::amd_kfd
