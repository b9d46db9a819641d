// SPDX-License-Identifier: Apache-2.0
//
// Quotas of real processes in a real directory: who waits for whom, and that who ends, wherever it is and however, neither keeps
// nor loses any.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <random>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "child.h"
#include "kernel/pidfd.h"
#include "lease/presence/processes.h"
#include "lease/state/boot_clock.h"
#include "lease/state/lease_file.h"
#include "lease_host.h"
#include "stepped.h"

BOOST_AUTO_TEST_SUITE(lease_quotas)

using namespace ogh;
using namespace ogh::test;
using namespace std::chrono_literals;

namespace {

constexpr int busy = 4;

LeaseRequest with_quota(const Init &init, std::vector<LeaseKey> keys, unsigned most = 1)
{
    LeaseRequest request = LeaseHost::request(init, std::move(keys), LeaseMode::Shared);
    request.demand.quotas = {{"key:q", most}};
    return request;
}

/** Any of eight GPUs. */
LeaseRequest any_with_quota(const Init &init, unsigned most)
{
    LeaseRequest request = with_quota(init, {}, most);
    request.demand.any = 1;
    for (unsigned gpu = 0; gpu < 8; ++gpu)
        request.demand.candidates.push_back("n:" + std::to_string(gpu));
    return request;
}

Child waiter(const LeaseHost &host, LeaseRequest request)
{
    return Child([&host, request]() mutable {
        request.runtime = ::getppid();
        request.wait = 60s;
        Leases{Sysroot(host.path())}.take(request).keep();
    });
}

LeaseState state_of(const LeaseHost &host)
{
    const std::string text = host.state();
    return text.empty() ? LeaseState() : parse_lease_file(text).state;
}

void wait_for_tickets(const LeaseHost &host, size_t count)
{
    for (int round = 0; round < 2000 && state_of(host).tickets.size() != count; ++round)
        std::this_thread::sleep_for(1ms);
    BOOST_TEST(state_of(host).tickets.size() == count, host.state());
}

/** How many devices are held by the quota, as the file says. */
size_t held(const LeaseHost &host)
{
    size_t count = 0;
    for (const Allocation &allocation : state_of(host).allocations)
        count += static_cast<size_t>(
            std::count_if(allocation.devices.begin(), allocation.devices.end(),
                          [](const LeasedDevice &device) { return !device.quotas.empty(); }));
    return count;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(who_is_over_goes_on_when_one_ends_on_whichever_gpu, LeaseHost)
{
    Init one;
    const Init two;
    BOOST_TEST(take(with_quota(one, {"n:7"})) == 0);
    BOOST_TEST(
        refusal(with_quota(two, {"n:0"})).says("the quota 'key:q' allows 1 at once: 1 held by container"));
    Child waits = waiter(*this, with_quota(two, {"n:0"}));
    wait_for_tickets(*this, 1);
    const Init three;
    BOOST_TEST(take(request(three, {"n:1"})) == 0); // nobody else waits for it
    const std::int64_t before = boottime_ns();
    one.end();
    BOOST_TEST(waits.wait() == 0);
    BOOST_TEST(boottime_ns() - before < 1'000'000'000);
    BOOST_TEST(held(*this) == 1U);
}

BOOST_FIXTURE_TEST_CASE(the_dead_of_a_quota_are_dropped_wherever_they_were, LeaseHost)
{
    {
        const Init one;
        const Init two;
        BOOST_TEST(take(with_quota(one, {"n:6"}, 2)) == 0);
        BOOST_TEST(take(with_quota(two, {"n:7"}, 2)) == 0);
    }
    const Init three;
    BOOST_TEST(take(with_quota(three, {"n:0"}, 2)) == 0);
    BOOST_TEST(held(*this) == 1U);
    BOOST_TEST(state_of(*this).allocations.size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(who_has_room_again_is_not_overtaken_before_it_wakes, LeaseHost)
{
    const Init one;
    const Init two;
    const Init three;
    take(with_quota(one, {"n:7"}));
    LeaseRequest wanted = with_quota(two, {"n:0"});
    wanted.demand.mode = LeaseMode::Exclusive;
    Child waits = waiter(*this, wanted);
    wait_for_tickets(*this, 1);
    static_cast<void>(list()); // not before it has unlocked the file
    ::kill(waits.pid(), SIGSTOP);
    // Nobody has reaped it: its number is still taken.
    const HeldProcess held = Processes().open_pidfd(one.pid()).value();
    ::kill(one.pid(), SIGKILL);
    BOOST_TEST(has_ended(held.pidfd.get(), 5000));
    const auto refused = refusal(request(three, {"n:0"}, LeaseMode::Shared));
    BOOST_TEST(refused.says("n:0 is waited for by container 'container-" + std::to_string(two.pid())),
               refused.message);
    ::kill(waits.pid(), SIGCONT);
    BOOST_TEST(waits.wait() == 0);
}

BOOST_FIXTURE_TEST_CASE(a_hook_with_a_quota_is_killed_at_any_step, LeaseHost)
{
    int step = 0;
    for (bool reached = true; reached; ++step) {
        reached = false;
        Init one;
        const Init two;
        const Work work = [&] {
            Leases{Sysroot(path())}.take(with_quota(one, {"n:0"})).keep();
            return std::string("taken");
        };
        in_stepped_child(work, SYS_openat, [&](const Step &now) {
            if (now.index == step) {
                ::kill(now.pid, SIGKILL);
                reached = true;
            }
        });
        static_cast<void>(list()); // who had it the round before is dead
        const size_t had = held(*this);
        BOOST_TEST(take(with_quota(two, {"n:1"})) == (had == 0 ? 0 : busy));
        one.end();
        BOOST_TEST(take(with_quota(two, {"n:1"})) == 0);
        BOOST_TEST(held(*this) == 1U);
    }
    BOOST_TEST(step > 20);
}

BOOST_FIXTURE_TEST_CASE(of_a_quota_no_more_is_held_than_its_containers_that_live, LeaseHost)
{
    constexpr unsigned most = 3;
    constexpr int kills = sanitized ? 20 : 200;
    std::minstd_rand random(7); // NOLINT(cert-msc51-cpp): the same each time
    const auto usual = [&] {    // time that one takes here until it has what it asks for, in microseconds
        const Init init;
        const std::int64_t begin = boottime_ns();
        const Child hook = waiter(*this, any_with_quota(init, most));
        while (list().entries.empty())
            ::usleep(100);
        return static_cast<unsigned>((boottime_ns() - begin) / 1000);
    }();
    std::vector<Init> living;
    int taken = 0;
    for (int count = 0; count < kills; ++count) {
        Init init;
        {
            Child hook = waiter(*this, any_with_quota(init, most));
            ::usleep(static_cast<useconds_t>(random() % (2 * usual)));
            hook.kill();
            hook.wait();
        }
        living.push_back(std::move(init));
        std::erase_if(living, [&](const Init &) { return random() % 3 == 0; });
        size_t holders = 0;
        for (const LeaseEntry &entry : list().entries) {
            BOOST_TEST(!entry.waits_for.has_value()); // those who waited are dead
            holders += static_cast<size_t>(std::count_if(
                living.begin(), living.end(), [&](const Init &each) { return each.pid() == entry.pid; }));
        }
        BOOST_TEST(held(*this) == holders);
        BOOST_TEST(holders <= most);
        taken += holders > 0 ? 1 : 0;
    }
    BOOST_TEST_MESSAGE(taken << " of " << kills << " times somebody had some of it");
    BOOST_TEST(taken > kills / 4);
    living.clear();
    const std::vector<Init> last(most + 1);
    for (unsigned i = 0; i < most; ++i)
        BOOST_TEST(take(any_with_quota(last[i], most)) == 0);
    BOOST_TEST(take(any_with_quota(last[most], most)) == busy);
}

BOOST_FIXTURE_TEST_CASE(never_more_than_a_quota_allows_and_all_have_their_turn, LeaseHost)
{
    constexpr int containers = sanitized ? 8 : 40;
    constexpr int most = 2;
    file("fine");
    const auto sit = [&] {
        for (int seat = 0; seat < most; ++seat) {
            UniqueFd fd(
                ::open(path("seat-" + std::to_string(seat)).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
            if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0)
                return fd;
        }
        std::filesystem::remove(path("fine"));
        return UniqueFd();
    };
    const auto hook = [&] {
        const Init init;
        LeaseRequest asked = any_with_quota(init, most);
        asked.wait = 60s;
        asked.runtime = ::getppid();
        Leases here{Sysroot(path())};
        const Lease lease = here.take(asked);
        const UniqueFd seat = sit();
        ::usleep(5000);
    };
    std::vector<Child> hooks;
    hooks.reserve(containers);
    for (int i = 0; i < containers; ++i)
        hooks.emplace_back(hook);
    for (Child &child : hooks)
        BOOST_TEST(child.wait() == 0);
    BOOST_TEST(std::filesystem::exists(path("fine")), "more than the quota at once");
}

BOOST_AUTO_TEST_SUITE_END()
