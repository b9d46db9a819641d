// SPDX-License-Identifier: Apache-2.0
#include "nvidia/egl_profile.h"

#include <array>
#include <charconv>
#include <cstdint>

namespace ogh {

std::string egl_profile(const std::set<unsigned> &minors)
{
    constexpr unsigned bits = 64;
    std::uint64_t mask = 0;
    for (const unsigned minor : minors)
        mask |= minor < bits ? std::uint64_t{1} << minor : 0;
    std::array<char, bits / 4> digits{};
    const char *const end = std::to_chars(digits.begin(), digits.end(), mask, 16).ptr;
    return R"({"profiles": [{"name": "_container_", "settings": ["EGLVisibleDGPUDevices", 0x)" +
           std::string(digits.data(), static_cast<size_t>(end - digits.data())) +
           R"(]}], "rules": [{"pattern": [], "profile": "_container_"}]})" + "\n";
}

} // namespace ogh
