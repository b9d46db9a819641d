// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ogh {

/** A time of CLOCK_REALTIME as RFC 3339 has it: "2026-11-22T21:09:15Z"; without the C library's time zones, which are files. */
std::string utc_text(std::int64_t unix_seconds);

/** "90s", "5m", "2h": digits and one unit, at most 30 days. Nothing if it is none. */
std::optional<std::chrono::seconds> parse_duration(std::string_view text);

/** The same the other way round, in the greatest unit that leaves no rest. */
std::string to_text(std::chrono::seconds duration);

} // namespace ogh
