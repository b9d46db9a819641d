// SPDX-License-Identifier: Apache-2.0
#include <sys/sysmacros.h>

#include <boost/test/unit_test.hpp>

#include "lease/waiting/lease_directory.h"

BOOST_AUTO_TEST_SUITE(lock_wait)

using namespace ogh;

namespace {

constexpr const char *locks = "1: POSIX  ADVISORY  WRITE 700 00:1b:12 0 EOF\n"
                              "2: FLOCK  ADVISORY  WRITE 701 00:1b:13 0 EOF\n"
                              "3: FLOCK  ADVISORY  WRITE 702 fe:100:12 0 EOF\n"
                              "4: FLOCK  ADVISORY  WRITE 703 00:1b:12 0 EOF\n"
                              "4: -> FLOCK  ADVISORY  WRITE 704 00:1b:14 0 EOF\n"
                              "4:  -> FLOCK  ADVISORY  WRITE 705 00:1b:14 0 EOF\n"
                              "5: OFDLCK ADVISORY  WRITE -1 00:1b:15 0 EOF\n";

} // namespace

BOOST_AUTO_TEST_CASE(the_holder_is_found_by_device_and_inode)
{
    BOOST_TEST(lock_holder(locks, makedev(0, 0x1b), 12).value_or(0) == 703);
    BOOST_TEST(lock_holder(locks, makedev(0, 0x1b), 13).value_or(0) == 701);
    BOOST_TEST(lock_holder(locks, makedev(0xfe, 0x100), 12).value_or(0) == 702);
}

BOOST_AUTO_TEST_CASE(who_waits_and_what_is_no_flock_is_no_holder)
{
    BOOST_TEST(!lock_holder(locks, makedev(0, 0x1b), 14).has_value());
    BOOST_TEST(!lock_holder(locks, makedev(0, 0x1b), 15).has_value());
    BOOST_TEST(!lock_holder("", makedev(0, 0x1b), 12).has_value());
    BOOST_TEST(!lock_holder("4: FLOCK  ADVISORY  WRITE 703", makedev(0, 0x1b), 12).has_value());
    BOOST_TEST(!lock_holder("4: FLOCK  ADVISORY  WRITE x 00:1b:12 0 EOF", makedev(0, 0x1b), 12).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
