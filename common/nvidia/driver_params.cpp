// SPDX-License-Identifier: Apache-2.0
#include "nvidia/driver_params.h"

#include <array>
#include <charconv>

#include "base/number.h"
#include "base/text.h"

namespace ogh {

namespace {

constexpr std::string_view key = "ModifyDeviceFiles";
constexpr std::string_view masked = "ModifyDeviceFiles: 0";

bool has_key(std::string_view line)
{
    return trimmed(line.substr(0, line.find(':'))) == key;
}

} // namespace

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

std::optional<std::uint64_t> driver_param(std::string_view text, std::string_view name)
{
    for (const std::string_view line : Parts(text, '\n')) {
        const size_t colon = line.find(':');
        if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == name)
            return parse_number(trimmed(line.substr(colon + 1)));
    }
    return std::nullopt;
}

std::string params_for_container(std::string_view text)
{
    std::string result;
    bool found = false;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        found = found || has_key(line);
        result += has_key(line) ? masked : line;
        text.remove_prefix(line.size());
        if (!text.empty()) {
            result += '\n';
            text.remove_prefix(1);
        }
    }
    return found ? result : std::string(masked) + "\n" + result;
}

} // namespace ogh
