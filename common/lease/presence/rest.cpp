// SPDX-License-Identifier: Apache-2.0
#include "lease/presence/rest.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/number.h"
#include "base/text.h"

namespace ogh {

namespace {

struct WaitingCall {
    std::uint64_t number = 0;
    size_t argument = 0;    ///< that which says what files it takes, from 1; 0 if it can take none
    std::uint64_t most = 0; ///< it takes none up to here
};

constexpr auto waiting_calls = std::to_array<WaitingCall>({
#ifdef SYS_pause // the newer architectures have none of these three
    {SYS_pause},
    {SYS_poll, 2}, // how many
    {SYS_select, 1},
#endif
    {SYS_ppoll, 2},
    {SYS_pselect6, 1},
    {SYS_rt_sigsuspend},
    {SYS_rt_sigtimedwait},
    {SYS_wait4},
    {SYS_waitid, 1, P_PGID}, // P_PIDFD is above
    {SYS_nanosleep},
    {SYS_clock_nanosleep},
    {SYS_futex},
});

} // namespace

bool sleeps_lightly(std::string_view stat)
{
    // The command stands in parentheses, and may have any of its own; what follows has neither.
    const std::vector<std::string_view> fields =
        split_views(stat.substr(std::min(stat.rfind(')'), stat.size())), ' ');
    constexpr size_t state = 1; // after the parenthesis
    constexpr size_t flags = 7;
    constexpr std::uint64_t is_ending = 0x4; // PF_EXITING of the kernel's include/linux/sched.h
    if (fields.size() <= flags || fields[state] != "S")
        return false;
    const auto number = parse_number(fields[flags]);
    return number && (*number & is_ending) == 0;
}

bool waits_for_no_file(std::string_view call)
{
    const std::vector<std::string_view> words = split_views(call, ' ');
    const auto number = parse_number(words.front()); // none: it runs, or waits outside of a call
    const auto *const known =
        std::find_if(waiting_calls.begin(), waiting_calls.end(),
                     [&](const WaitingCall &each) { return number && each.number == *number; });
    if (known == waiting_calls.end())
        return false;
    if (known->argument == 0)
        return true;
    if (known->argument >= words.size() || !words[known->argument].starts_with("0x"))
        return false;
    const auto value = parse_number(words[known->argument].substr(2), 16);
    return value && *value <= known->most;
}

} // namespace ogh
