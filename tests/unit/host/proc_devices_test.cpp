// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "host/proc_devices.h"
#include "support/expect.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(proc_devices)

using namespace ogh;
using ogh::test::failure_of;
using ogh::test::TempDirectory;

namespace {

constexpr const char *sample = "Character devices:\n"
                               "  1 mem\n"
                               "195 nvidia-frontend\n"
                               "195 nvidia-modeset\n"
                               "226 drm\n"
                               "234 nvidia-nvswitch\n"
                               "235 nvidia-caps-imex-channels\n"
                               "237 nvidia-caps\n"
                               "510 nvidia-uvm\n"
                               "511 a name with blanks\n"
                               "\n"
                               "Block devices:\n"
                               "  8 sd\n"
                               "259 nvidia-fs\n";

/** 0 if it is not there. */
unsigned number_of(std::string_view name, std::string_view text = sample)
{
    return ProcDevices(text).major_of(name).value_or(0);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_driver_has_a_major_number)
{
    BOOST_TEST(number_of("mem") == 1U);
    BOOST_TEST(number_of("drm") == 226U);
    BOOST_TEST(number_of("nvidia-uvm") == 510U);
    BOOST_TEST(number_of("nvidia-modeset") == 195U);
    BOOST_TEST(number_of("a name with blanks") == 511U);
}

BOOST_AUTO_TEST_CASE(names_that_contain_each_other_are_not_confused)
{
    BOOST_TEST(number_of("nvidia-caps") == 237U);
    BOOST_TEST(number_of("nvidia-caps-imex-channels") == 235U);
    for (const char *name :
         {"nvidia", "nvidia-cap", "nvidia-caps-imex", "uvm", "-uvm", "NVIDIA-UVM", "", "a name"})
        BOOST_TEST(number_of(name) == 0U, name);
}

BOOST_AUTO_TEST_CASE(block_devices_do_not_count)
{
    BOOST_TEST(number_of("sd") == 0U);
    BOOST_TEST(number_of("nvidia-fs") == 0U);
    BOOST_TEST(number_of("sd", "Block devices:\n  8 sd\n\nCharacter devices:\n  1 mem\n") == 0U);
    BOOST_TEST(number_of("mem", "Block devices:\n  8 sd\n\nCharacter devices:\n  1 mem\n") == 1U);
}

BOOST_AUTO_TEST_CASE(odd_lines_are_passed_over)
{
    const std::string text =
        "Character devices:\nx nvidia\n-1 nvidia\n4096 nvidia\n99999999999999999999 nvidia\n"
        "195\n195nvidia\n 7 other\n";
    BOOST_TEST(number_of("nvidia", text) == 0U);
    BOOST_TEST(number_of("other", text) == 7U);
    BOOST_TEST(number_of("nvidia", "") == 0U);
    BOOST_TEST(number_of("nvidia", "Character devices:\n195 nvidia") == 195U);
}

BOOST_AUTO_TEST_CASE(the_file_is_read_below_the_sysroot)
{
    const TempDirectory host;
    const auto read = [&] { return read_proc_devices(Sysroot(host.path())); };
    BOOST_TEST((failure_of([&] { static_cast<void>(read()); }).kind == ErrorKind::BrokenHost));
    host.file("proc/devices", sample);
    BOOST_TEST(read().major_of("nvidia-uvm").value_or(0) == 510U);
    host.file("proc/devices", std::string(65537, 'x'));
    BOOST_TEST(failure_of([&] { static_cast<void>(read()); }).says("is larger than 65536 bytes"));
}

BOOST_AUTO_TEST_SUITE_END()
