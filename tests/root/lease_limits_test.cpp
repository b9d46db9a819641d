// SPDX-License-Identifier: Apache-2.0
//
// Containers that may be ended by who waits, since they have had their GPU for long enough.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include <boost/test/unit_test.hpp>

#include "child.h"
#include "lease/state/boot_clock.h"
#include "lease_host.h"

BOOST_AUTO_TEST_SUITE(lease_limits)

using namespace ogh;
using namespace ogh::test;
using namespace std::chrono_literals;

namespace {

struct Limits : LeaseHost {
    /** A request for the one GPU, for so long and no longer. */
    static LeaseRequest limited(const Init &init, std::chrono::nanoseconds most,
                                std::chrono::nanoseconds grace)
    {
        LeaseRequest asked = request(init, {"n:0"});
        asked.hold = HoldTerms{most, grace, SIGTERM};
        return asked;
    }

    /** Waits for the GPU in a process of its own, and ends with what came of it. */
    [[nodiscard]] Child waiter(const Init &init) const
    {
        return Child([this, &init] {
            LeaseRequest asked = request(init, {"n:0"});
            asked.wait = 60s;
            asked.runtime = ::getppid();
            Notes notes;
            asked.notes = &notes;
            const int code = take(asked);
            ::_exit(notes.empty() ? code : code + static_cast<int>(notes.size()));
        });
    }

    /** When the state's only holder was asked to end; waits until it is. */
    std::int64_t asked_ns() const
    {
        for (;; ::usleep(1000)) {
            const LeaseState now = lease_state();
            if (!now.allocations.empty() && now.allocations.front().limit->asked_ns)
                return *now.allocations.front().limit->asked_ns;
        }
    }
};

/** What init ended by, if it has; it is still to be waited for. */
int signal_of(const Init &init)
{
    siginfo_t found{};
    ::waitid(P_PID, static_cast<id_t>(init.pid()), &found, WEXITED | WNOHANG | WNOWAIT);
    return found.si_pid == 0 ? 0 : found.si_status;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(without_somebody_who_waits_nothing_happens, Limits)
{
    const Init init;
    BOOST_TEST(take(limited(init, 0ns, 0ns)) == 0);
    BOOST_TEST((list().entries.front().why == PreemptReason::HeldTooLong));
    const Failure refused = refusal(request(Init(), {"n:0"}));
    BOOST_TEST(refused.says("(may be ended since 2"), refused.message);
    BOOST_TEST(!lease_state().allocations.front().limit->asked_ns);
    BOOST_TEST(signal_of(init) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_first_program_without_a_handler_is_killed_after_the_grace, Limits)
{
    const Init init;
    const Init two;
    BOOST_TEST(take(limited(init, 1ms, 300ms)) == 0);
    const std::int64_t start = boottime_ns();
    BOOST_TEST(waiter(two).wait() == 2); // it says that it has asked, and ended
    BOOST_TEST(boottime_ns() - start >= 300'000'000);
    BOOST_TEST(signal_of(init) == SIGKILL);
}

BOOST_FIXTURE_TEST_CASE(one_that_heeds_its_signal_gets_no_other, Limits)
{
    const Init init(Init::Kind::Joined);
    const Init two;
    LeaseRequest asked = limited(init, 1ms, 1h);
    asked.demand.mode = LeaseMode::Shared; // an exclusive one needs a cgroup
    BOOST_TEST(take(asked) == 0);
    BOOST_TEST(waiter(two).wait() == 1);
    BOOST_TEST(signal_of(init) == SIGTERM);
}

BOOST_FIXTURE_TEST_CASE(who_waits_next_goes_on_where_the_one_before_has_ended, Limits)
{
    const Init init;
    const Init two;
    BOOST_TEST(take(limited(init, 1ms, 1s)) == 0);
    std::int64_t asked_at = 0;
    {
        const Child first = waiter(two);
        asked_at = asked_ns();
    }
    Child second = waiter(two);
    while (signal_of(init) == 0 && lease_state().tickets.empty())
        ::usleep(1000);
    BOOST_TEST(asked_ns() == asked_at);
    BOOST_TEST(second.wait() == 1); // it says only that it has ended it
}

BOOST_FIXTURE_TEST_CASE(the_least_of_several_limits_counts, Limits)
{
    const Init init;
    BOOST_TEST(take(limited(init, 1h, 5s)) == 0);
    const auto limit = [&] { return lease_state().allocations.front().limit.value(); };
    const std::int64_t first = limit().until_ns;
    LeaseRequest more = limited(init, 2h, 7s);
    more.demand.fixed = {"n:1"};
    BOOST_TEST(take(more) == 0);
    BOOST_TEST(limit().until_ns == first);
    more = limited(init, 1min, 9s);
    more.demand.fixed = {"n:2"};
    BOOST_TEST(take(more) == 0);
    BOOST_TEST(limit().until_ns != first);
    BOOST_TEST(limit().grace_ns == 9'000'000'000);
}

BOOST_AUTO_TEST_SUITE_END()
