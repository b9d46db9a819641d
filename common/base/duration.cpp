// SPDX-License-Identifier: Apache-2.0
#include "base/duration.h"

#include <array>
#include <cstdio>

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

std::string utc_text(std::int64_t unix_seconds)
{
    using namespace std::chrono;
    const auto time = sys_seconds(seconds(unix_seconds));
    const auto day = floor<days>(time);
    const year_month_day date{day};
    const hh_mm_ss<seconds> clock{time - day};
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02ld:%02ld:%02ldZ",
                  static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                  static_cast<unsigned>(date.day()), static_cast<long>(clock.hours().count()),
                  static_cast<long>(clock.minutes().count()), static_cast<long>(clock.seconds().count()));
    return text.data();
}

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
