// SPDX-License-Identifier: Apache-2.0
#include "base/utc_text.h"

#include <array>
#include <chrono>
#include <cstdio>

namespace ogh {

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

} // namespace ogh
