// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace ogh {

/** "90s", "5m", "2h": digits and one unit, at most 30 days. Nothing if it is none. */
std::optional<std::chrono::seconds> parse_duration(std::string_view text);

/** The same the other way round, in the greatest unit that leaves no rest. */
std::string to_text(std::chrono::seconds duration);

} // namespace ogh
