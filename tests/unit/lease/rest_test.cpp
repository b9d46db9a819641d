// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>
#include <sys/wait.h>

#include <string>
#include <tuple>

#include <boost/test/unit_test.hpp>

#include "lease/presence/rest.h"

BOOST_AUTO_TEST_SUITE(rest)

using namespace ogh;

namespace {

std::string call(long number, const std::string &arguments = "0x3 0x7ffe 0x1 0x0 0x0 0x0")
{
    return std::to_string(number) + " " + arguments + " 0x7ffe056d9688 0x7fc6e1f202ad\n";
}

std::string stat_of(const std::string &state, const std::string &flags = "4194560")
{
    return "17 (a) D 1 (b) " + state + " 1 17 17 0 -1 " + flags + " 1 0 0 0 0 0 0 0 20 0 1 0 4711 0 0 1\n";
}

} // namespace

BOOST_AUTO_TEST_CASE(a_call_that_takes_no_file_is_known)
{
    for (const long number :
         {SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_wait4, SYS_nanosleep, SYS_clock_nanosleep, SYS_futex})
        BOOST_TEST(waits_for_no_file(call(number)), number);
#ifdef SYS_pause
    BOOST_TEST(waits_for_no_file(call(SYS_pause)));
    BOOST_TEST(waits_for_no_file("34 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffe 0x7fc6\n") == (SYS_pause == 34));
#endif
}

BOOST_AUTO_TEST_CASE(one_that_may_take_some_is_known_by_how_many)
{
    for (const auto &[number, none, some] :
         {std::tuple(SYS_ppoll, "0x0 0x0 0x0 0x0", "0x7ffe 0x1 0x0 0x0"),
          std::tuple(SYS_pselect6, "0x0 0x0 0x0 0x0", "0x4 0x7ffe 0x0 0x0"),
#ifdef SYS_pause
          std::tuple(SYS_poll, "0x7ffe 0x0 0xffffffff", "0x0 0x1 0xffffffff"),
          std::tuple(SYS_select, "0x0 0x1 0x1 0x1", "0x1 0x0 0x0 0x0"),
#endif
          std::tuple(SYS_waitid, "0x2 0x5 0x0 0x4", "0x3 0x5 0x0 0x4")}) { // P_PIDFD
        BOOST_TEST(waits_for_no_file(call(number, none)), number);
        BOOST_TEST(!waits_for_no_file(call(number, some)), number);
        BOOST_TEST(!waits_for_no_file(std::to_string(number)), number);
        BOOST_TEST(!waits_for_no_file(std::to_string(number) + " "), number);
    }
    BOOST_TEST(!waits_for_no_file(call(SYS_waitid, "0x100000003 0x5"))); // an int to the kernel
}

BOOST_AUTO_TEST_CASE(all_else_may_have_one)
{
    for (const long number :
         {SYS_read, SYS_sendfile, SYS_epoll_pwait, SYS_restart_syscall, SYS_mmap, SYS_exit_group})
        BOOST_TEST(!waits_for_no_file(call(number)), number);
    for (const char *text : {"", "running\n", "-1 0x7ffe056d9688 0x7fc6e1f202ad\n", "x", " "})
        BOOST_TEST(!waits_for_no_file(text), text);
}

BOOST_AUTO_TEST_CASE(what_a_signal_does_not_wake_sleeps_deeper)
{
    BOOST_TEST(sleeps_lightly(stat_of("S")));
    for (const char *state : {"D", "R", "T", "t", "Z", "X", "I", ""})
        BOOST_TEST(!sleeps_lightly(stat_of(state)), state);
    BOOST_TEST(!sleeps_lightly(""));
    BOOST_TEST(!sleeps_lightly("17 (S S S S S S S S S S"));
    BOOST_TEST(!sleeps_lightly("17 (a) S 1 17"));
}

BOOST_AUTO_TEST_CASE(who_is_ending_is_not_at_rest)
{
    BOOST_TEST(!sleeps_lightly(stat_of("S", "4194564")));
    BOOST_TEST(!sleeps_lightly(stat_of("S", "x")));
}

BOOST_AUTO_TEST_SUITE_END()
