// SPDX-License-Identifier: Apache-2.0
#include <ctime>

#include <boost/test/unit_test.hpp>

#include "lease/state/boot_clock.h"

BOOST_AUTO_TEST_SUITE(boot_clock)

using namespace ogh;

BOOST_AUTO_TEST_CASE(a_time_is_in_one_second_whenever_it_is_asked_for)
{
    constexpr std::int64_t second = 1'000'000'000;
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    // Whoever adds whole seconds of both clocks loses one where their parts make a second together.
    const std::int64_t soon = boottime_ns() + second - now.tv_nsec + second / 100;
    BOOST_TEST(unix_time_at(soon) == now.tv_sec + 1);
    BOOST_TEST(unix_time_at(soon + 3 * second) == now.tv_sec + 4);
    BOOST_TEST(unix_time_at(soon - 2 * second) == now.tv_sec - 1);
}

BOOST_AUTO_TEST_SUITE_END()
