// SPDX-License-Identifier: Apache-2.0
//
// The directory of leases as others meet it: in another namespace, at the same moment, after a crash.
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <ctime>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "base/exit_status.h"
#include "child.h"
#include "kernel/end_signals.h"
#include "lease/state/lease_file.h"
#include "lease/waiting/lease_directory.h"
#include "lease_host.h"

BOOST_AUTO_TEST_SUITE(lease_directory)

using namespace ogh;
using namespace ogh::test;
using namespace std::chrono_literals;

namespace {

/** Does that as process 1 of a pid namespace of its own; /proc is the one of before. */
std::string in_pid_namespace(const Work &work)
{
    return in_child([&] {
               check_call(::unshare(CLONE_NEWPID | CLONE_NEWNS), "unshare");
               check_call(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "make / private");
               return in_child(work).text;
           })
        .text;
}

void wait_until_in(long call, pid_t pid)
{
    std::string now;
    for (int round = 0; round < 1000 && now != std::to_string(call); ++round) {
        std::ifstream("/proc/" + std::to_string(pid) + "/syscall") >> now;
        std::this_thread::sleep_for(2ms);
    }
    BOOST_TEST(now == std::to_string(call));
}

void wait_until_stopped(pid_t pid)
{
    std::string state;
    for (int round = 0; round < 1000 && state != "T"; ++round) {
        std::string word;
        std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
        file >> word >> word >> state;
        std::this_thread::sleep_for(2ms);
    }
    BOOST_TEST(state == "T");
}

/** A process that has the lock, and does that; as a hook has it, or another program. */
Child holder_of_the_lock(const LeaseHost &host, const std::function<void()> &work, bool is_a_hook = true)
{
    std::array<int, 2> ends{};
    check_call(::pipe2(ends.data(), O_CLOEXEC), "pipe2");
    const UniqueFd done(ends[0]);
    UniqueFd tell(ends[1]);
    Child child([&] {
        const LeaseDirectory directory{Sysroot(host.path())};
        const UniqueFd lock =
            is_a_hook ? directory.lock(Processes(), Patience{10s}) : directory.open_private("lock", O_RDWR);
        check_call(::flock(lock.get(), LOCK_EX), "flock"); // a second time does nothing
        tell.reset();
        work();
    });
    tell.reset();
    char nothing = 0;
    check_call(::read(done.get(), &nothing, 1), "read");
    return child;
}

LeaseRequest any_of_two(const Init &init, LeaseMode mode)
{
    LeaseRequest asked = LeaseHost::request(init, {}, mode);
    asked.demand.any = 1;
    asked.demand.candidates = {"n:0", "n:1"};
    return asked;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_hook_in_another_pid_namespace_is_told_what_to_do, LeaseHost)
{
    const Init one;
    BOOST_TEST(take(request(one, {"n:0"})) == 0);
    const auto try_there = [&] {
        const Init two;
        return refusal(request(two, {"n:1"})).message;
    };
    const std::string other = in_pid_namespace([&] {
        check_call(::mount("proc", "/proc", "proc", 0, nullptr), "mount /proc");
        return try_there();
    });
    BOOST_TEST(other.find("written from another pid namespace") != std::string::npos, other);
    BOOST_TEST(other.find("rm -r " + path("run/oci-gpu-hooks/leases")) != std::string::npos, other);
    const std::string mixed = in_pid_namespace(try_there);
    BOOST_TEST(mixed.find("another pid namespace") != std::string::npos, mixed);
    BOOST_TEST(list().entries.size() == 1);
}

BOOST_FIXTURE_TEST_CASE(a_lease_is_given_back_from_another_mount_namespace, LeaseHost)
{
    const Init one;
    const Outcome outcome = in_child([&]() -> std::string {
        Leases here{Sysroot(path())};
        Lease lease = here.take(request(one, {"n:0"}));
        check_call(::unshare(CLONE_NEWNS), "unshare");
        check_call(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "make / private");
        check_call(::mount("none", path().c_str(), "tmpfs", 0, nullptr), "cover the host");
        check_call(::mount("none", "/proc", "tmpfs", 0, nullptr), "cover /proc");
        lease.release();
        return "given back";
    });
    BOOST_TEST((outcome == Outcome{0, "given back"}), outcome);
    const LeaseState now = parse_lease_file(state()).state;
    BOOST_TEST((now.allocations.empty() && now.last_used.at("n:0") == 1U), state());
}

BOOST_FIXTURE_TEST_CASE(a_lock_that_was_removed_while_in_use_keeps_nobody_out_of_the_next, LeaseHost)
{
    const LeaseDirectory directory{Sysroot(path())};
    const Processes processes;
    const std::string lock_path = path("run/oci-gpu-hooks/leases/lock");
    std::optional<UniqueFd> lock = directory.lock(processes, Patience{10s});
    Child next([&] {
        lock.reset(); // a copy of the descriptor keeps the lock too
        const UniqueFd own = directory.lock(processes, Patience{10s});
        struct stat held {};
        struct stat there {};
        check_call(::fstat(own.get(), &held), "fstat");
        check_call(::stat(lock_path.c_str(), &there), "stat");
        if (held.st_ino != there.st_ino)
            throw std::runtime_error("another file is locked than the next hook will lock");
    });
    wait_until_in(SYS_flock, next.pid());
    check_call(::unlink(lock_path.c_str()), "unlink");
    std::ofstream(lock_path) << ""; // as the next hook makes it
    check_call(::chmod(lock_path.c_str(), 0600), "chmod");
    lock.reset();
    BOOST_TEST(next.wait() == 0);
}

BOOST_FIXTURE_TEST_CASE(who_stands_still_with_the_lock_is_named, LeaseHost)
{
    const LeaseDirectory directory{Sysroot(path())};
    const Processes processes;
    const Child holder = holder_of_the_lock(*this, [] { ::raise(SIGSTOP); });
    wait_until_stopped(holder.pid());
    const auto start = std::chrono::steady_clock::now();
    const Failure failure =
        failure_of([&] { static_cast<void>(directory.lock(processes, Patience{500ms})); });
    const auto time = std::chrono::steady_clock::now() - start;
    BOOST_TEST((failure.kind == ErrorKind::BrokenHost));
    BOOST_TEST(failure.says("leases/lock' has been locked for 1 s by the process " +
                            std::to_string(holder.pid()) + " ('"),
               failure.message);
    BOOST_TEST(failure.says("', stopped), which holds up all hooks"), failure.message);
    BOOST_TEST((time >= 500ms && time < 5s));
    const std::string keeper = Leases::look(Sysroot(path()), {}).lock_keeper;
    BOOST_TEST(keeper.starts_with("the process " + std::to_string(holder.pid()) + " ('"), keeper);
    BOOST_TEST(keeper.ends_with("', stopped)"), keeper);
    ::kill(holder.pid(), SIGCONT);
    BOOST_TEST(Leases::look(Sysroot(path()), {}).lock_keeper.empty());
    BOOST_TEST(take(request(Init(), {"n:0"})) == 0);
}

BOOST_FIXTURE_TEST_CASE(who_is_told_to_end_waits_no_longer_for_the_lock, LeaseHost)
{
    const LeaseDirectory directory{Sysroot(path())};
    const Child holder = holder_of_the_lock(*this, [] { ::pause(); });
    // In a process of its own, in which the signal stays pending.
    const auto kind_with = [&](const Patience &patience) {
        Child waiter([&] {
            block_end_signals();
            ::raise(SIGTERM);
            const Processes processes;
            const Failure failure =
                failure_of([&] { static_cast<void>(directory.lock(processes, patience)); });
            ::_exit(static_cast<int>(exit_status(failure.kind)));
        });
        return waiter.wait();
    };
    BOOST_TEST(kind_with(Patience{5s}) == static_cast<int>(ExitStatus::Failure));
    BOOST_TEST(kind_with(Patience{1s, false}) == static_cast<int>(ExitStatus::BrokenHost), "the end goes on");
}

BOOST_FIXTURE_TEST_CASE(who_stands_still_in_another_pid_namespace_is_not_passed_over, LeaseHost)
{
    const LeaseDirectory directory{Sysroot(path())};
    const Child holder = holder_of_the_lock(*this, [] { ::pause(); });
    const std::string said = in_pid_namespace([&] {
        check_call(::mount("proc", "/proc", "proc", 0, nullptr), "mount /proc");
        const Processes processes;
        return failure_of([&] { static_cast<void>(directory.lock(processes, Patience{200ms})); }).message;
    });
    BOOST_TEST(said.find("by a process that /proc does not show, as of another pid namespace") !=
                   std::string::npos,
               said);
}

BOOST_FIXTURE_TEST_CASE(who_is_no_hook_and_has_the_lock_is_not_passed_over, LeaseHost)
{
    const LeaseDirectory directory{Sysroot(path())};
    const Child holder = holder_of_the_lock(
        *this, [] { ::pause(); }, false);
    const Failure failure =
        failure_of([&] { static_cast<void>(directory.lock(Processes(), Patience{200ms})); });
    BOOST_TEST(
        failure.says("locked for 1 s by a process that has not said which one it is ('lslocks' shows it)"),
        failure.message);
}

BOOST_FIXTURE_TEST_CASE(a_lock_that_goes_from_one_to_another_is_waited_for, LeaseHost)
{
    constexpr Patience patience{2s};
    const LeaseDirectory directory{Sysroot(path())};
    const Processes processes;
    const std::string file = path("run/oci-gpu-hooks/leases/lock");
    static_cast<void>(directory.lock(processes, patience)); // makes it
    // Each has it for less than a process may, and all of them together for more; shared, so that there is no gap.
    std::vector<Child> holders;
    for (int count = 0; count < 5; ++count)
        holders.emplace_back([&file, count] {
            std::this_thread::sleep_for(600ms * count);
            const UniqueFd lock(::open(file.c_str(), O_RDWR | O_CLOEXEC));
            check_call(::flock(lock.get(), LOCK_SH), "flock");
            struct flock name {};
            name.l_type = F_RDLCK;
            check_call(::fcntl(lock.get(), F_SETLK, &name), "fcntl");
            std::this_thread::sleep_for(900ms);
        });
    std::this_thread::sleep_for(200ms);
    const auto start = std::chrono::steady_clock::now();
    static_cast<void>(directory.lock(processes, patience));
    BOOST_TEST_MESSAGE("waited " << (std::chrono::steady_clock::now() - start) / 1ms << " ms");
}

BOOST_FIXTURE_TEST_CASE(who_has_ended_does_not_count_where_any_of_some_is_asked_for, LeaseHost)
{
    const Init one;
    Init two;
    const Init three;
    BOOST_TEST(take(request(one, {"n:1"}, LeaseMode::Shared)) == 0);
    BOOST_TEST(take(request(two, {"n:0"}, LeaseMode::Shared)) == 0);
    two.end();
    BOOST_TEST(take(any_of_two(three, LeaseMode::Shared)) == 0);
    const Allocation last = parse_lease_file(state()).state.allocations.back();
    BOOST_TEST((last.holder.init.pid == three.pid() && last.devices.front().key == "n:0"), state());
}

BOOST_FIXTURE_TEST_CASE(who_is_in_nobodys_way_is_looked_at_closely_by_a_list, LeaseHost)
{
    const Init one;
    const Init two;
    BOOST_TEST(take(request(one, {"n:0"})) == 0);
    LeaseFile file = parse_lease_file(state());
    file.state.allocations.front().holder.init.start_time -= 1; // the number is another process's now
    write_state(to_text(file));
    BOOST_TEST(take(any_of_two(two, LeaseMode::Exclusive)) == 0);
    const LeasedDevice last = parse_lease_file(state()).state.allocations.back().devices.front();
    BOOST_TEST((last == LeasedDevice{"n:1", LeaseMode::Exclusive}), state());
    BOOST_TEST(list().entries.size() == 1);
}

BOOST_FIXTURE_TEST_CASE(a_list_tells_who_has_executed_nothing_yet, LeaseHost)
{
    const Init created;
    const Child started([] {
        ::execl("/bin/sleep", "sleep", "100", nullptr);
        ::_exit(1);
    });
    BOOST_TEST(take(request(created, {"n:0"})) == 0);
    LeaseRequest asked = request(created, {"n:1"}, LeaseMode::Shared);
    asked.init = started.pid();
    BOOST_TEST(take(asked) == 0);
    std::string name;
    for (int round = 0; round < 1000 && name != "sleep"; ++round) {
        std::ifstream("/proc/" + std::to_string(started.pid()) + "/comm") >> name;
        std::this_thread::sleep_for(2ms);
    }
    const LeaseList now = list();
    BOOST_TEST_REQUIRE(now.entries.size() == 2);
    BOOST_TEST(now.entries.front().never_started);
    BOOST_TEST(!now.entries.back().never_started);
}

BOOST_FIXTURE_TEST_CASE(who_has_worked_for_a_second_has_started_though_it_has_executed_nothing, LeaseHost)
{
    // As a runtime that is the container's program itself: crun with WebAssembly.
    const Child worker([] {
        ::raise(SIGSTOP);
        while (::clock() < CLOCKS_PER_SEC + CLOCKS_PER_SEC / 20) {
        }
        for (;;)
            ::pause();
    });
    LeaseRequest asked = request(Init(), {"n:0"}, LeaseMode::Shared);
    asked.init = worker.pid();
    BOOST_TEST(take(asked) == 0);
    BOOST_TEST(list().entries.at(0).never_started);
    // Should it not have stopped yet, this comes too early; it is sent again.
    const auto has_started = [&] {
        ::kill(worker.pid(), SIGCONT);
        return !list().entries.at(0).never_started;
    };
    for (int round = 0; round < 6000 && !has_started(); ++round)
        std::this_thread::sleep_for(10ms);
    BOOST_TEST(has_started());
}

BOOST_AUTO_TEST_SUITE_END()
