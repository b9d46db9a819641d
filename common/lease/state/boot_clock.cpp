// SPDX-License-Identifier: Apache-2.0
#include "lease/state/boot_clock.h"

#include <ctime>

namespace ogh {

namespace {

constexpr std::int64_t second = 1'000'000'000;

std::int64_t ns_of(clockid_t clock)
{
    timespec time{};
    ::clock_gettime(clock, &time); // fails for no clock that this kernel has
    return time.tv_sec * second + time.tv_nsec;
}

} // namespace

std::int64_t boottime_ns()
{
    return ns_of(CLOCK_BOOTTIME);
}

std::int64_t unix_time()
{
    return ns_of(CLOCK_REALTIME) / second;
}

std::int64_t unix_time_at(std::int64_t boottime)
{
    // Seconds of both clocks would make another second of one time, by when it is asked for.
    return (ns_of(CLOCK_REALTIME) - boottime_ns() + boottime) / second;
}

} // namespace ogh
