// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace ogh {

/** CLOCK_BOOTTIME, in ns: nobody sets it, and it goes on while the host sleeps. All that is decided goes by it. */
std::int64_t boottime_ns();

/** CLOCK_REALTIME, in seconds; for people alone. */
std::int64_t unix_time();

/** "2026-11-22T20:16:04Z" (RFC 3339), without the C library's time zones, which are files. */
std::string utc_text(std::int64_t unix_seconds);

} // namespace ogh
