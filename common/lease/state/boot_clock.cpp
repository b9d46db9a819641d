// SPDX-License-Identifier: Apache-2.0
#include "lease/state/boot_clock.h"

#include <ctime>

namespace ogh {

namespace {

timespec time_of(clockid_t clock)
{
    timespec time{};
    ::clock_gettime(clock, &time); // fails for no clock that this kernel has
    return time;
}

} // namespace

std::int64_t boottime_ns()
{
    const timespec time = time_of(CLOCK_BOOTTIME);
    return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

std::int64_t unix_time()
{
    return time_of(CLOCK_REALTIME).tv_sec;
}

std::int64_t unix_time_at(std::int64_t boottime)
{
    return unix_time() + (boottime - boottime_ns()) / 1'000'000'000;
}

} // namespace ogh
