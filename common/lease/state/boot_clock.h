// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ogh {

/** CLOCK_BOOTTIME, in ns: nobody sets it, and it goes on while the host sleeps. All that is decided goes by it. */
std::int64_t boottime_ns();

/** CLOCK_REALTIME, in seconds; for people alone. */
std::int64_t unix_time();

/** When a time of CLOCK_BOOTTIME is, or was, in seconds of CLOCK_REALTIME; for people alone. */
std::int64_t unix_time_at(std::int64_t boottime);

} // namespace ogh
