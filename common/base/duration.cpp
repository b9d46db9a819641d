// SPDX-License-Identifier: Apache-2.0
#include "base/duration.h"

#include <array>

#include "base/number.h"

namespace ogh {

namespace {

struct Unit {
    char letter;
    unsigned seconds;
};

constexpr std::array<Unit, 3> units{Unit{'h', 3600}, Unit{'m', 60}, Unit{'s', 1}};
constexpr unsigned max_seconds = 30U * 24 * 3600;

} // namespace

std::optional<std::chrono::seconds> parse_duration(std::string_view text)
{
    for (const Unit &unit : units) {
        if (text.empty() || text.back() != unit.letter)
            continue;
        const auto count = parse_small_number(text.substr(0, text.size() - 1), max_seconds / unit.seconds);
        return count ? std::optional(std::chrono::seconds(*count * unit.seconds)) : std::nullopt;
    }
    return std::nullopt;
}

std::string to_text(std::chrono::seconds duration)
{
    const auto seconds = duration.count();
    for (const Unit &unit : units) {
        if (seconds % unit.seconds == 0 && (seconds != 0 || unit.seconds == 1))
            return std::to_string(seconds / unit.seconds) + unit.letter;
    }
    return std::to_string(seconds) + "s";
}

} // namespace ogh
