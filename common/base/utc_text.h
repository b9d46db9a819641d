// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace ogh {

/** A time of CLOCK_REALTIME as RFC 3339 has it: "2026-11-22T21:09:15Z"; without the C library's time zones, which are files. */
std::string utc_text(std::int64_t unix_seconds);

} // namespace ogh
