// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "lease/state/lease_state.h"

BOOST_AUTO_TEST_SUITE(lease_counts)

using namespace ogh;

BOOST_AUTO_TEST_CASE(each_wait_is_in_one_place)
{
    LeaseCounts counts;
    for (const std::int64_t ms : {0, 100, 101, 60'000, 3'600'000, 3'600'001})
        counts.add_grant(ms * 1'000'000);
    BOOST_TEST((counts.waits == decltype(counts.waits){2, 1, 0, 1, 0, 1, 1}));
    BOOST_TEST(counts.grants == 6U);
    BOOST_TEST(counts.waited_ns == 7'260'202'000'000U);
}

BOOST_AUTO_TEST_CASE(time_is_that_of_each_device_by_its_vendor)
{
    Allocation allocation;
    allocation.devices = {{"nvidia:0"}, {"nvidia:1/2"}, {"amd:0"}, {"cdi:x"}, {"other"}};
    LeaseCounts counts;
    counts.add_time(devices_by_vendor(allocation), 10);
    counts.add_time(devices_by_vendor(allocation), -5);
    BOOST_TEST((counts.device_ns == LeaseCounts::ByVendor{10, 20, 20}));
}

BOOST_AUTO_TEST_SUITE_END()
