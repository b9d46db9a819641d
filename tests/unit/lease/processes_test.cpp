// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "lease/presence/processes.h"

BOOST_AUTO_TEST_SUITE(processes)

using namespace ogh;

namespace {

std::string stat_of(const std::string &command)
{
    return "17 (" + command +
           ") S 1 17 17 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 0 0 18446744073709551615 1 1\n";
}

} // namespace

BOOST_AUTO_TEST_CASE(the_start_time_is_found_whatever_the_command_is)
{
    for (const char *command :
         {"sh", "", ") S 1 2 3 4", "(", "a\nb", "x) R 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 9"})
        BOOST_TEST(start_time_of(stat_of(command)).value() == 4711);
}

BOOST_AUTO_TEST_CASE(what_is_cut_short_has_no_start_time)
{
    const std::string whole = stat_of("sh");
    for (size_t length = 0; length < whole.find("4711"); ++length)
        BOOST_TEST(!start_time_of(whole.substr(0, length)));
    BOOST_TEST(!start_time_of("17 (sh) S 1 17 17 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 -1 0"));
}

BOOST_AUTO_TEST_CASE(the_first_process_of_a_pid_namespace_below_is_known)
{
    const std::string name = "Name:\tNSpid:\\n\nUmask:\t0022\nNStgid:\t17\t1\n";
    BOOST_TEST(is_first_of_a_pid_namespace(name + "NSpid:\t17\t1\nNSpgid:\t17\t1\n"));
    BOOST_TEST(is_first_of_a_pid_namespace(name + "NSpid:\t17\t3\t1\n"));
    BOOST_TEST(!is_first_of_a_pid_namespace(name + "NSpid:\t1\n")); // of this one
    BOOST_TEST(!is_first_of_a_pid_namespace(name + "NSpid:\t17\n"));
    BOOST_TEST(!is_first_of_a_pid_namespace(name + "NSpid:\t17\t11\n")); // has joined another one's
    BOOST_TEST(!is_first_of_a_pid_namespace(name));
}

BOOST_AUTO_TEST_SUITE_END()
