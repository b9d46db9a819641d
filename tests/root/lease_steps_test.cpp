// SPDX-License-Identifier: Apache-2.0
//
// Leases under what goes wrong: a hook that is killed at each step, calls that fail, and whatever happens at random.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <random>

#include <boost/test/unit_test.hpp>

#include "base/error.h"
#include "base/exit_status.h"
#include "child.h"
#include "lease/state/lease_changes.h"
#include "lease/state/lease_file.h"
#include "lease_host.h"
#include "seccomp.h"
#include "stepped.h"
#include "support/lease_model.h"

BOOST_AUTO_TEST_SUITE(lease_steps)

using namespace ogh;
using namespace ogh::test;
using namespace std::chrono_literals;

namespace {

/** What the state says, checked; parse_lease_file() refuses two holders. */
LeaseState checked_state(const LeaseHost &host)
{
    const std::string text = host.state();
    return text.empty() ? LeaseState{} : parse_lease_file(text).state;
}

Work taking(const LeaseHost &host, const Init &init, const std::vector<LeaseKey> &keys)
{
    return [&host, &init, keys] {
        Leases leases{Sysroot(host.path())};
        leases.take(LeaseHost::request(init, keys)).keep();
        return std::string("taken");
    };
}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_hook_killed_at_any_step_leaves_what_the_next_one_repairs, LeaseHost)
{
    const Init before;
    BOOST_TEST(take(request(before, {"n:1"})) == 0);
    int step = 0;
    for (bool reached = true; reached; ++step) {
        reached = false;
        Init one;
        const Init two;
        const Outcome outcome =
            in_stepped_child(taking(*this, one, {"n:0"}), SYS_openat, [&](const Step &now) {
                if (now.index == step) {
                    ::kill(now.pid, SIGKILL);
                    reached = true;
                }
            });
        BOOST_TEST(outcome.code == (reached ? 128 + SIGKILL : 0), outcome);
        checked_state(*this);
        one.end();
        BOOST_TEST(take(request(two, {"n:1"})) == static_cast<int>(ExitStatus::Busy));
        BOOST_TEST(take(request(two, {"n:0"})) == 0);
        BOOST_TEST(checked_state(*this).allocations.size() == 2);
        BOOST_TEST(!std::filesystem::exists(state_path() + ".new"));
    }
    BOOST_TEST(step > 20);
    BOOST_TEST_MESSAGE("killed at each of " << step << " steps");
}

BOOST_AUTO_TEST_CASE(a_call_that_fails_gives_an_error_and_no_second_holder)
{
    const auto calls = std::to_array<long>({SYS_openat, SYS_flock, SYS_newfstatat, SYS_fstat, SYS_read,
                                            SYS_write, SYS_renameat, SYS_unlinkat, SYS_pidfd_open, SYS_poll,
                                            SYS_fchmod, SYS_mkdirat, SYS_fstatfs, SYS_getpid, SYS_openat2});
    for (const long call : calls) {
        for (const bool exists : {false, true}) {
            const LeaseHost host;
            Init one;
            const Init two;
            if (exists)
                BOOST_TEST(host.take(LeaseHost::request(one, {"n:0", "n:1"})) == 0);
            const std::string before = host.state();
            // What it says comes by the exit code: the call that fails may be write.
            const Outcome outcome = in_child([&]() -> std::string {
                refuse_call(call, EIO);
                ::_exit(host.take(LeaseHost::request(two, {exists ? "n:2" : "n:0"})));
            });
            BOOST_TEST_CONTEXT("call " << call << (exists ? ", second" : ", first") << ", code "
                                       << outcome.code)
            {
                BOOST_TEST((outcome.code == 0 || outcome.code == static_cast<int>(ExitStatus::BrokenHost) ||
                            outcome.code == static_cast<int>(ExitStatus::Failure)));
                if (outcome.code != 0)
                    BOOST_TEST(host.state() == before);
                else
                    BOOST_TEST(checked_state(host).allocations.size() == (exists ? 2U : 1U));
            }
        }
    }
}

BOOST_FIXTURE_TEST_CASE(the_directory_does_as_the_rules_say, LeaseHost)
{
    constexpr int steps = sanitized ? 100 : 600;
    LeaseSteps random(4711);
    LeaseState expected;
    std::vector<Init> inits(8);
    std::vector<std::optional<Lease>> last(8);
    Leases here{Sysroot(path())};
    for (int count = 0; count < steps; ++count) {
        const LeaseStep step = random.next();
        const size_t who = step.container % inits.size();
        const auto holder = [&] {
            for (const Allocation &allocation : checked_state(*this).allocations) {
                if (allocation.holder.init.pid == inits[who].pid())
                    return allocation.holder.init;
            }
            return ProcessId{inits[who].pid(), 0};
        };
        if (step.kind == LeaseStep::Kind::Ask || step.kind == LeaseStep::Kind::AskAndWait) {
            LeaseRequest asked = request(inits[who], {});
            asked.demand = step.demand;
            const Decision decision = decide(expected, {holder(), step.demand, 0}, 0);
            std::optional<Lease> taken;
            try {
                taken.emplace(here.take(asked));
            } catch (const Error &error) {
                BOOST_TEST((error.kind() == ErrorKind::Busy), error.what());
            }
            BOOST_TEST(taken.has_value() == decision.granted.has_value());
            if (taken) {
                BOOST_TEST(taken->devices() == *decision.granted);
                taken->keep();
            }
        } else if (step.kind == LeaseStep::Kind::Crash) {
            inits[who] = Init();
            static_cast<void>(here.cancel({})); // takes out who has ended
        } else if (step.kind == LeaseStep::Kind::Drain) {
            here.drain({step.key});
        } else if (step.kind == LeaseStep::Kind::Undrain) {
            here.undrain(step.key);
        }
        expected = checked_state(*this);
    }
    inits.clear();
    BOOST_TEST(list().entries.empty());
}

BOOST_FIXTURE_TEST_CASE(no_gpu_is_held_twice_or_lost_whoever_is_killed, LeaseHost)
{
    constexpr int containers = sanitized ? 12 : 60;
    file("twice");
    const auto hook = [&](unsigned seed) {
        std::minstd_rand random(seed); // NOLINT(cert-msc51-cpp): the same each time
        const Init init;
        LeaseRequest asked = request(init, {}, seed % 3 == 0 ? LeaseMode::Shared : LeaseMode::Exclusive);
        asked.demand.any = 1 + seed % 2;
        asked.demand.candidates = {"n:0", "n:1", "n:2", "n:3"};
        asked.wait = 60s;
        Leases here{Sysroot(path())};
        const Lease lease = here.take(asked);
        std::vector<UniqueFd> seats;
        for (const LeaseKey &key : lease.devices()) {
            UniqueFd seat(::open(path("seat-" + key).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
            const int mode = asked.demand.mode == LeaseMode::Shared ? LOCK_SH : LOCK_EX;
            if (::flock(seat.get(), mode | LOCK_NB) != 0)
                std::filesystem::remove(path("twice"));
            seats.push_back(std::move(seat));
        }
        ::usleep(static_cast<useconds_t>(random() % 20'000));
        if (seed % 7 == 0)
            ::kill(::getpid(), SIGKILL);
        seats.clear();
    };
    std::vector<Child> hooks;
    hooks.reserve(containers);
    for (unsigned seed = 1; seed <= containers; ++seed)
        hooks.emplace_back([&, seed] { hook(seed); });
    for (unsigned i = 0; i < containers; i += 9)
        hooks[i].kill();
    int done = 0;
    for (Child &child : hooks)
        done += child.wait() == 0 ? 1 : 0;
    BOOST_TEST(std::filesystem::exists(path("twice")), "a GPU was held twice");
    BOOST_TEST(done > containers / 2);
    BOOST_TEST_MESSAGE(done << " of " << containers << " were not killed");
    // Nothing is lost: all of it can be given, once the last of those that were killed are gone.
    LeaseRequest all = request(Init(), {"n:0", "n:1", "n:2", "n:3"});
    const Init last;
    all.init = last.pid();
    all.wait = 10s;
    BOOST_TEST(take(all) == 0);
    BOOST_TEST(checked_state(*this).allocations.size() == 1);
    BOOST_TEST(checked_state(*this).tickets.empty());
}

BOOST_AUTO_TEST_SUITE_END()
