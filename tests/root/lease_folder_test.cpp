// SPDX-License-Identifier: Apache-2.0
//
// The folder of leases as others meet it: in another namespace, at the same moment, after a crash.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "child.h"
#include "lease/lease_file.h"
#include "lease/lease_folder.h"
#include "lease/lease_text.h"
#include "lease_host.h"

BOOST_AUTO_TEST_SUITE(lease_folder)

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
    BOOST_TEST(state().find("\nholding ") == std::string::npos);
    BOOST_TEST(state().find("\nused 1 n:0\n") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(a_lock_that_was_removed_while_in_use_keeps_nobody_out_of_the_next, LeaseHost)
{
    const LeaseFolder folder{Sysroot(path())};
    const std::string lock_path = path("run/oci-gpu-hooks/leases/lock");
    std::optional<UniqueFd> lock = folder.lock();
    Child next([&] {
        lock.reset(); // a copy of the descriptor keeps the lock too
        const UniqueFd own = folder.lock();
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

BOOST_FIXTURE_TEST_CASE(who_has_ended_does_not_count_where_any_of_some_is_asked_for, LeaseHost)
{
    const Init one;
    Init two;
    const Init three;
    BOOST_TEST(take(request(one, {"n:1"}, LeaseMode::Shared)) == 0);
    BOOST_TEST(take(request(two, {"n:0"}, LeaseMode::Shared)) == 0);
    two.end();
    BOOST_TEST(take(any_of_two(three, LeaseMode::Shared)) == 0);
    BOOST_TEST(state().find(" shared n:0 " + std::to_string(three.pid())) != std::string::npos, state());
}

BOOST_FIXTURE_TEST_CASE(who_is_in_nobodys_way_is_looked_at_closely_by_a_list, LeaseHost)
{
    const Init one;
    const Init two;
    BOOST_TEST(take(request(one, {"n:0"})) == 0);
    LeaseFile file = parse_lease_file(state());
    file.state.holdings.front().holder.init.start_time -= 1; // the number is another process's now
    write_state(to_text(file));
    BOOST_TEST(take(any_of_two(two, LeaseMode::Exclusive)) == 0);
    BOOST_TEST(state().find(" exclusive n:1 ") != std::string::npos, state());
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

BOOST_AUTO_TEST_SUITE_END()
