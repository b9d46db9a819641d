// SPDX-License-Identifier: Apache-2.0
//
// Leases in a real directory, of real processes.
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>
#include <vector>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "base/error.h"
#include "base/exit_status.h"
#include "cgroup_host.h"
#include "child.h"
#include "kernel/end_signals.h"
#include "lease/state/boot_clock.h"
#include "lease/state/lease_file.h"
#include "lease_host.h"
#include "seccomp.h"
#include "support/expect.h"
#include "support/lease_model.h"

BOOST_AUTO_TEST_SUITE(leases)

using namespace ogh;
using namespace ogh::test;
using namespace std::chrono_literals;

namespace fs = std::filesystem;

namespace {

constexpr int busy = static_cast<int>(ExitStatus::Busy);

/** What a hook says that waits in a process of its own, whose parent is this one. */
struct Waiter {
    Waiter(const LeaseHost &host, LeaseRequest request)
        : result(host.path("result-" + std::to_string(request.init))),
          child([&host, request, file = result]() mutable {
              request.runtime = ::getppid();
              request.wait = 20s;
              std::string text = "0";
              block_end_signals(); // as a hook does that has been asked for something
              try {
                  Leases leases{Sysroot(host.path())};
                  leases.take(request).keep();
              } catch (const Error &error) {
                  text = error.what();
              }
              std::ofstream(file) << text;
          })
    {
    }

    /** Once its ticket is there, or the one of that number. */
    void wait_until_queued(const LeaseHost &host, unsigned number = 0) const
    {
        const auto is_queued = [&] {
            return number == 0 ? !host.lease_state().tickets.empty() : host.has_ticket(number);
        };
        for (int round = 0; round < 1000 && !is_queued(); ++round)
            std::this_thread::sleep_for(2ms);
        BOOST_TEST(is_queued());
    }

    std::string said()
    {
        child.wait();
        std::string line;
        std::getline(std::ifstream(result), line);
        return line;
    }

    std::string result;
    Child child;
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_lease_lasts_as_long_as_the_container, LeaseHost)
{
    Init one;
    const Init two;
    BOOST_TEST(take(request(one, {"n:0"})) == 0);
    const auto failure = refusal(request(two, {"n:0"}));
    BOOST_TEST((failure.kind == ErrorKind::Busy));
    BOOST_TEST(failure.says("n:0 is held exclusively by container 'container-" + std::to_string(one.pid()) +
                            "' since 2"),
               failure.message);
    BOOST_TEST(take(request(two, {"n:1"})) == 0);
    one.end();
    BOOST_TEST(take(request(two, {"n:0"})) == 0);
    const LeaseList left = list();
    BOOST_TEST(left.entries.size() == 1);
}

BOOST_FIXTURE_TEST_CASE(what_is_not_kept_is_given_back, LeaseHost)
{
    const Init one;
    const Init two;
    Leases here{Sysroot(path())};
    {
        const Lease lease = here.take(request(one, {"n:0"}));
        BOOST_TEST(take(request(two, {"n:0"})) == busy);
    }
    BOOST_TEST(take(request(two, {"n:0"})) == 0);
}

BOOST_FIXTURE_TEST_CASE(who_waits_goes_on_when_the_holder_ends, LeaseHost)
{
    Init one;
    const Init two;
    take(request(one, {"n:0"}));
    Waiter waiter(*this, request(two, {"n:0"}));
    waiter.wait_until_queued(*this);
    BOOST_TEST(take(request(Init(), {"n:0"}, LeaseMode::Shared)) == busy);
    const std::int64_t before = boottime_ns();
    one.end();
    BOOST_TEST(waiter.said() == "0");
    BOOST_TEST(boottime_ns() - before < 1'000'000'000);
    BOOST_TEST_MESSAGE("started " << (boottime_ns() - before) / 1000 << " us after the end");
    BOOST_TEST(lease_state().tickets.empty());
}

BOOST_FIXTURE_TEST_CASE(of_two_that_wait_the_first_is_first, LeaseHost)
{
    Init one;
    Init two;
    const Init three;
    take(request(one, {"n:0"}));
    Waiter first(*this, request(two, {"n:0"}));
    first.wait_until_queued(*this, 1);
    Waiter second(*this, request(three, {"n:0"}));
    second.wait_until_queued(*this, 2);
    one.end();
    BOOST_TEST(first.said() == "0");
    BOOST_TEST(has_ticket(2));
    BOOST_TEST(!fs::exists(second.result));
    two.end();
    BOOST_TEST(second.said() == "0");
}

BOOST_FIXTURE_TEST_CASE(whoever_is_served_leaves_all_behind_it_as_they_are, LeaseHost)
{
    Init one;
    std::vector<Init> inits(6);
    take(request(one, {"n:0"}));
    std::vector<std::unique_ptr<Waiter>> waiters;
    for (const Init &init : inits) {
        waiters.push_back(std::make_unique<Waiter>(*this, request(init, {"n:0"})));
        waiters.back()->wait_until_queued(*this, static_cast<unsigned>(waiters.size()));
    }
    Leases(Sysroot(path())).drain({"n:1", 1}); // so that all are looked at
    one.end();
    for (size_t i = 0; i < inits.size(); ++i) {
        if (i == 3)
            Leases(Sysroot(path())).undrain("n:1");
        BOOST_TEST(waiters[i]->said() == "0");
        BOOST_TEST(parse_lease_file(state()).state.tickets.size() == inits.size() - i - 1);
        inits[i].end();
    }
}

BOOST_FIXTURE_TEST_CASE(who_came_later_and_need_not_wake_stays_in_the_queue, LeaseHost)
{
    Init one;
    Init two;
    const Init three;
    take(request(one, {"n:0"}));
    Waiter second(*this, request(two, {"n:0"}));
    second.wait_until_queued(*this, 1);
    Waiter third(*this, request(three, {"n:0"}));
    third.wait_until_queued(*this, 2);
    static_cast<void>(list());          // not before it has unlocked the file
    ::kill(third.child.pid(), SIGSTOP); // so that it does not look by itself
    LeaseFile file = parse_lease_file(state());
    const ProcessId next = file.state.tickets[0].holder.init; // what it has to wait for then
    file.state.tickets[1].watched->holders.insert(next);
    write_state(to_text(file));
    one.end();
    BOOST_TEST(second.said() == "0");
    BOOST_TEST(parse_lease_file(state()).state.tickets.size() == 1U);
    ::kill(third.child.pid(), SIGCONT);
    two.end();
    BOOST_TEST(third.said() == "0");
}

BOOST_FIXTURE_TEST_CASE(who_waits_ends_with_its_container_and_leaves_no_ticket, LeaseHost)
{
    const Init one;
    Init two;
    take(request(one, {"n:0"}));
    Waiter waiter(*this, request(two, {"n:0"}));
    waiter.wait_until_queued(*this);
    two.end();
    BOOST_TEST(waiter.said() == "the container ended while this hook waited for a GPU");
    BOOST_TEST(lease_state().tickets.empty());
}

BOOST_FIXTURE_TEST_CASE(who_waits_ends_when_it_is_told_to_and_leaves_no_ticket, LeaseHost)
{
    const Init one;
    const Init two;
    take(request(one, {"n:0"}));
    for (const auto &[number, name] :
         {std::pair(SIGTERM, "SIGTERM"), {SIGINT, "SIGINT"}, {SIGHUP, "SIGHUP"}}) {
        Waiter waiter(*this, request(two, {"n:0"}));
        waiter.wait_until_queued(*this);
        ::kill(waiter.child.pid(), number);
        BOOST_TEST(waiter.said() == std::string("ended by ") + name + " while waiting for a GPU");
        BOOST_TEST(lease_state().tickets.empty());
    }
}

BOOST_FIXTURE_TEST_CASE(who_waits_ends_with_its_runtime, LeaseHost)
{
    const Init one;
    const Init two;
    take(request(one, {"n:0"}));
    const std::string told = path("told");
    const Child runtime([&] {
        const pid_t self = ::getpid();
        if (::fork() == 0) {
            LeaseRequest asked = request(two, {"n:0"});
            asked.runtime = self;
            asked.wait = 20s;
            const auto failure = refusal(asked);
            std::ofstream(told + ".new") << failure.message;
            fs::rename(told + ".new", told);
            ::_exit(0);
        }
        ::pause();
    });
    for (int round = 0; round < 1000 && lease_state().tickets.empty(); ++round)
        std::this_thread::sleep_for(2ms);
    runtime.kill();
    for (int round = 0; round < 1000 && !fs::exists(told); ++round)
        std::this_thread::sleep_for(2ms);
    std::string line;
    std::getline(std::ifstream(told), line);
    BOOST_TEST(line == "the runtime ended while this hook waited for a GPU");
    BOOST_TEST(lease_state().tickets.empty());
}

BOOST_FIXTURE_TEST_CASE(the_ticket_of_a_hook_that_was_killed_does_not_count, LeaseHost)
{
    Init one;
    const Init two;
    take(request(one, {"n:0"}));
    {
        const Waiter waiter(*this, request(two, {"n:0"}));
        waiter.wait_until_queued(*this);
    }
    one.end();
    BOOST_TEST(take(request(Init(), {"n:0"})) == 0);
    BOOST_TEST(lease_state().tickets.empty());
}

BOOST_FIXTURE_TEST_CASE(a_wait_ends_at_its_deadline_and_a_second_request_does_not_wait, LeaseHost)
{
    const Init one;
    const Init two;
    take(request(one, {"n:0"}));
    LeaseRequest asked = request(two, {"n:0"});
    asked.wait = 50ms;
    const std::int64_t before = boottime_ns();
    BOOST_TEST(take(asked) == busy);
    BOOST_TEST(boottime_ns() - before >= 50'000'000);
    take(request(two, {"n:1"}));
    asked.wait = 20s;
    BOOST_TEST(take(asked) == busy);
    BOOST_TEST(lease_state().tickets.empty());
}

BOOST_FIXTURE_TEST_CASE(who_waits_has_no_more_in_the_end_than_it_may_with_what_it_got_meanwhile, LeaseHost)
{
    Init one;
    const Init two;
    take(request(one, {"n:0"}));
    LeaseRequest wanted = request(two, {"n:0"});
    wanted.max_devices = 1;
    wanted.counted = {"n"};
    Waiter waiter(*this, wanted);
    waiter.wait_until_queued(*this);
    BOOST_TEST(take(request(two, {"n:1"})) == 0);
    one.end();
    const std::string said = waiter.said();
    BOOST_TEST(said.find("would have 2 GPUs, and --max-devices allows 1") != std::string::npos, said);
    BOOST_TEST(lease_state().tickets.empty());
    BOOST_TEST(take(request(Init(), {"n:0"})) == 0);
}

BOOST_FIXTURE_TEST_CASE(another_process_with_the_same_number_is_not_the_holder, LeaseHost)
{
    const Init one;
    const Init two;
    take(request(one, {"n:0"}));
    LeaseFile file = parse_lease_file(state());
    file.state.allocations.front().holder.init.start_time -= 1;
    write_state(to_text(file));
    BOOST_TEST(take(request(two, {"n:0"})) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_process_whose_first_thread_has_ended_is_still_there, LeaseHost)
{
    std::array<int, 2> ends{};
    check_call(::pipe2(ends.data(), O_CLOEXEC), "pipe2");
    Child one([&] {
        pthread_t thread{};
        ::pthread_create(
            &thread, nullptr,
            [](void *) -> void * {
                for (;;)
                    ::pause();
            },
            nullptr);
        char told = 0;
        check_call(::read(ends[0], &told, 1), "read");
        ::syscall(SYS_exit, 0); // this thread alone; pthread_exit() would be caught as an exception
    });
    const Init two;
    LeaseRequest asked = request(two, {"n:0"}, LeaseMode::Shared);
    asked.init = one.pid();
    BOOST_TEST(take(asked) == 0);
    check_call(::write(ends[1], "x", 1), "write");
    const std::string status = "/proc/" + std::to_string(one.pid()) + "/status";
    for (std::string text; text.find("State:\tZ") == std::string::npos;) {
        std::ostringstream now;
        now << std::ifstream(status).rdbuf();
        text = now.str();
    }
    for (const int end : ends)
        ::close(end);
    BOOST_TEST(take(request(two, {"n:0"})) == busy);
    one.kill();
    one.wait();
    BOOST_TEST(take(request(two, {"n:0"})) == 0);
}

BOOST_FIXTURE_TEST_CASE(without_a_pid_namespace_or_a_cgroup_of_its_own_nothing_is_exclusive, LeaseHost)
{
    const Init joined(Init::Kind::Joined);
    BOOST_TEST(take(request(joined, {"n:0"})) == static_cast<int>(ExitStatus::Denied));
    BOOST_TEST(take(request(joined, {"n:0"}, LeaseMode::Shared)) == 0);
}

BOOST_FIXTURE_TEST_CASE(who_has_ended_shares_a_gpu_no_more, LeaseHost)
{
    const Init three;
    const Init four;
    {
        const Init one;
        const Init two;
        for (const Init *init : {&one, &two})
            BOOST_TEST(take(request(*init, {"n:0"}, LeaseMode::Shared)) == 0);
    }
    BOOST_TEST(take(request(three, {"n:1"}, LeaseMode::Shared)) == 0);
    LeaseRequest asked = request(four, {}, LeaseMode::Shared);
    asked.demand.any = 1;
    asked.demand.candidates = {"n:0", "n:1"};
    BOOST_TEST(take(asked) == 0);
    const LeaseState left = parse_lease_file(state()).state;
    BOOST_REQUIRE(left.allocations.size() == 2U);
    BOOST_TEST(left.allocations.back().devices.front().key == "n:0");
}

BOOST_FIXTURE_TEST_CASE(without_a_pid_namespace_or_a_cgroup_it_ends_with_its_init, LeaseHost)
{
    Init joined(Init::Kind::Joined);
    const Init two;
    BOOST_TEST(take(request(joined, {"n:0"}, LeaseMode::Shared)) == 0);
    BOOST_TEST(take(request(two, {"n:0"})) == busy);
    joined.end();
    BOOST_TEST(take(request(two, {"n:0"})) == 0);
}

BOOST_FIXTURE_TEST_CASE(however_long_the_words_of_containers_are_all_get_leases, LeaseHost)
{
    std::vector<Init> inits(300);
    for (const Init &init : inits) {
        LeaseRequest asked = request(init, {"n:0"}, LeaseMode::Shared);
        asked.container.assign(NAME_MAX, '\x01');
        BOOST_REQUIRE(take(asked) == 0);
    }
    BOOST_TEST(state().size() < inits.size() * 1024);
    const LeaseList all = list();
    BOOST_TEST(all.entries.size() == inits.size());
    BOOST_TEST(all.entries.back().container == std::string(51, '\x01'));
}

BOOST_FIXTURE_TEST_CASE(a_users_lock_on_what_it_may_open_holds_up_nobody, LeaseHost)
{
    const Init one;
    take(request(one, {"n:0"}));
    const UniqueFd theirs(::open(state_path().c_str(), O_RDONLY | O_CLOEXEC));
    BOOST_TEST(::flock(theirs.get(), LOCK_EX) == 0);
    const Outcome outcome = in_child([&] {
        ::alarm(20);
        return std::to_string(take(request(one, {"n:1"})));
    });
    BOOST_TEST((outcome == Outcome{0, "0"}), outcome);
    struct stat status {};
    BOOST_TEST(::stat(path("run/oci-gpu-hooks/leases/lock").c_str(), &status) == 0);
    BOOST_TEST((status.st_mode & 07777U) == 0600U);
    BOOST_TEST(::chmod(path("run/oci-gpu-hooks/leases/lock").c_str(), 0644) == 0);
    BOOST_TEST(take(request(one, {"n:1"})) == static_cast<int>(ExitStatus::BrokenHost));
}

BOOST_FIXTURE_TEST_CASE(a_drained_gpu_is_not_given, LeaseHost)
{
    const Init one;
    Leases here{Sysroot(path())};
    BOOST_TEST(here.drain({"n:0"}));
    BOOST_TEST(take(request(one, {"n:0"})) == busy);
    const LeaseList drained = list();
    BOOST_TEST(drained.drains.size() == 1);
    BOOST_TEST(here.undrain("n:0"));
    BOOST_TEST(take(request(one, {"n:0"})) == 0);
}

BOOST_FIXTURE_TEST_CASE(who_waits_is_told_at_once_that_a_gpu_is_drained_or_is_not_any_more, LeaseHost)
{
    const Init one;
    const Init two;
    const Init three;
    Leases here{Sysroot(path())};
    take(request(one, {"n:0"}));
    here.drain({"n:1"});
    LeaseRequest any = request(two, {});
    any.demand.any = 1;
    any.demand.candidates = {"n:0", "n:1"};
    Waiter of_two(*this, any);
    of_two.wait_until_queued(*this, 1);
    Waiter of_one(*this, request(three, {"n:0"}));
    of_one.wait_until_queued(*this, 2);
    const std::int64_t before = boottime_ns();
    here.drain({"n:0"});
    BOOST_TEST(of_one.said().find("n:0 is drained by root since") != std::string::npos);
    BOOST_TEST(of_two.said().find("n:1 is drained by root since") != std::string::npos);
    here.undrain("n:0");
    Waiter again(*this, any);
    again.wait_until_queued(*this, 3);
    here.undrain("n:1");
    BOOST_TEST(again.said() == "0");
    BOOST_TEST(boottime_ns() - before < 15'000'000'000); // and not when its time was over
}

namespace {

struct Damage {
    const char *name;
    std::function<void(const LeaseHost &)> make;
    const char *words;
};

const std::vector<Damage> &damages()
{
    static const std::vector<Damage> every = {
        {"corrupt", [](const LeaseHost &host) { host.write_state("oci-gpu-hooks leases 2\nspace"); },
         "is no valid JSON"},
        {"empty", [](const LeaseHost &host) { host.write_state(""); }, "is empty"},
        {"newer", [](const LeaseHost &host) { host.write_state("{\"version\":2}\n"); }, "has version 2"},
        {"foreign",
         [](const LeaseHost &host) {
             LeaseFile file = parse_lease_file(host.state());
             file.space.start_time += 1;
             host.write_state(to_text(file));
         },
         "another pid namespace"},
        {"huge", [](const LeaseHost &host) { fs::resize_file(host.state_path(), max_lease_file + 1); },
         "larger than"},
        {"a link",
         [](const LeaseHost &host) {
             fs::rename(host.state_path(), host.path("elsewhere"));
             host.link("run/oci-gpu-hooks/leases/state", host.path("elsewhere"));
         },
         "cannot open"},
        {"a user's file",
         [](const LeaseHost &host) { check_call(::chown(host.state_path().c_str(), 1000, 0), "chown"); },
         "no plain file that only root may write"},
        {"writable file", [](const LeaseHost &host) { fs::permissions(host.state_path(), fs::perms(0666)); },
         "no plain file that only root may write"},
        {"writable directory",
         [](const LeaseHost &host) { fs::permissions(host.path("run/oci-gpu-hooks"), fs::perms(0777)); },
         "may be written by others than root"},
        {"a user's directory",
         [](const LeaseHost &host) {
             check_call(::chown(host.path("run/oci-gpu-hooks/leases").c_str(), 1000, 0), "chown");
         },
         "does not belong to root"},
        {"a link to a directory",
         [](const LeaseHost &host) {
             fs::rename(host.path("run/oci-gpu-hooks"), host.path("elsewhere"));
             host.link("run/oci-gpu-hooks", host.path("elsewhere"));
         },
         "cannot open the directory"},
        {"read-only",
         [](const LeaseHost &host) {
             check_call(::mount("none", host.path("run").c_str(), "tmpfs", MS_RDONLY, "mode=755"), "mount");
         },
         "Read-only file system"},
        {"read-only, and without that anybody's",
         [](const LeaseHost &host) {
             check_call(::mount("none", host.path("run").c_str(), "tmpfs", MS_RDONLY, "mode=1777"), "mount");
         },
         "is on a read-only filesystem"},
        {"full",
         [](const LeaseHost &host) {
             check_call(::mount("none", host.path("run").c_str(), "tmpfs", 0, "nr_inodes=4,mode=755"),
                        "mount");
         },
         "No space left on device"},
    };
    return every;
}

} // namespace

BOOST_AUTO_TEST_CASE(what_is_not_as_it_should_be_is_refused_and_left_alone)
{
    for (const Damage &damage : damages()) {
        BOOST_TEST_CONTEXT(damage.name)
        {
            const LeaseHost host;
            const Init one;
            BOOST_TEST(host.take(LeaseHost::request(one, {"n:0"})) == 0);
            damage.make(host);
            const std::string before = host.state();
            const auto failure = host.refusal(LeaseHost::request(one, {"n:1"}));
            BOOST_TEST((failure.kind == ErrorKind::BrokenHost));
            BOOST_TEST(failure.says(damage.words), failure.message);
            BOOST_TEST(host.state() == before);
            ::umount2(host.path("run").c_str(), MNT_DETACH);
        }
    }
}

BOOST_FIXTURE_TEST_CASE(names_are_root_s_alone_to_read, LeaseHost)
{
    const auto named = [](const Init &init, const std::string &name) {
        LeaseRequest asked = request(init, {"n:" + name}, LeaseMode::Shared);
        asked.label.name = name;
        return asked;
    };
    Init one;
    const Init two;
    BOOST_TEST(take(named(one, "job\xff")) == 0);
    const std::string people = path("run/oci-gpu-hooks/leases/people");
    BOOST_TEST((fs::status(people).permissions() == fs::perms(0600)));
    BOOST_TEST((fs::status(state_path()).permissions() == fs::perms(0644)));
    BOOST_TEST(list().entries.at(0).label.name == "job\xff");
    std::ofstream(people) << "rubbish"; // which is for people alone
    BOOST_TEST(take(named(two, "other")) == 0);
    BOOST_TEST(list().entries.at(0).label.name.empty());
    BOOST_TEST(list().entries.at(1).label.name == "other");
    BOOST_TEST(take(named(one, "again")) == 0);
    one.end();
    BOOST_TEST(list().entries.size() == 1U);
    BOOST_TEST(take(named(two, "last")) == 0);
    std::ifstream file(people);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    BOOST_TEST(text.find("again") == std::string::npos, text);
}

BOOST_FIXTURE_TEST_CASE(refusals_are_counted_without_the_lock_of_leases_and_beside_others, LeaseHost)
{
    const LeaseDirectory directory{Sysroot(path())};
    const UniqueFd lock = directory.lock(Processes(), LeaseStore::patience);
    BOOST_TEST(read_refusals(Sysroot(path())).empty());
    std::vector<Child> hooks;
    for (int count = 0; count < 4; ++count)
        hooks.emplace_back([&] {
            for (int refused = 0; refused < 25; ++refused)
                count_refusal(directory, "mount-srv", 5);
        });
    for (Child &hook : hooks)
        BOOST_TEST(hook.wait() == 0);
    const Refusals expected{{"mount-srv", {0, 0, 0, 0, 0, 100, 0}}};
    const Refusals counted = read_refusals(Sysroot(path()));
    BOOST_TEST((counted == expected), counted.at("mount-srv")[5]);
    std::ofstream(path("run/oci-gpu-hooks/leases/refusals")) << "rubbish";
    count_refusal(directory, "mount-srv", 6);
    BOOST_TEST(read_refusals(Sysroot(path())).at("mount-srv").at(6) == 1U);
}

BOOST_FIXTURE_TEST_CASE(what_has_happened_is_counted_from_the_boot_on, LeaseHost)
{
    const auto counts = [&] { return Leases::counts(Sysroot(path())); };
    BOOST_TEST((counts() == LeaseCounts()));
    Init one;
    BOOST_TEST(take(request(one, {"nvidia:0", "nvidia:1"})) == 0);
    const LeaseCounts running = counts();
    BOOST_TEST(running.grants == 1U);
    BOOST_TEST((running.device_ns[0] == 0 && running.device_ns[1] > 0 && running.device_ns[2] == 0));
    one.end();
    BOOST_TEST(list().entries.empty());
    const LeaseCounts ended = counts();
    BOOST_TEST(ended.device_ns[1] > running.device_ns[1]);
    BOOST_TEST((counts() == ended), "nobody has anything any more");
    LeaseFile file = parse_lease_file(state());
    file.space.boot = "another";
    write_state(to_text(file));
    BOOST_TEST((counts() == LeaseCounts()));
    const Init two;
    BOOST_TEST(take(request(two, {"other:0"})) == 0);
    BOOST_TEST(counts().grants == 1U);
    BOOST_TEST(counts().device_ns[1] == 0U);
}

BOOST_FIXTURE_TEST_CASE(what_a_container_gives_back_that_stays_is_counted_once, LeaseHost)
{
    const Init one;
    BOOST_TEST(take(request(one, {"nvidia:0"})) == 0);
    {
        Leases leases{Sysroot(path())};
        const Lease lease = leases.take(request(one, {"nvidia:1"}));
    }
    const std::uint64_t before = Leases::counts(Sysroot(path())).device_ns[1];
    BOOST_TEST(Leases::counts(Sysroot(path())).device_ns[1] > before);
}

BOOST_FIXTURE_TEST_CASE(a_user_may_look_and_no_more, LeaseHost)
{
    const Init one;
    take(request(one, {"n:0"}));
    fs::permissions(path(), fs::perms(0755));
    const Outcome outcome = in_child([&] {
        check_call(::setresuid(1000, 1000, 1000), "setresuid");
        const LeaseList list = Leases::look(Sysroot(path()), {});
        return list.entries.front().container + (list.entries.front().lives ? " lives" : "");
    });
    BOOST_TEST((outcome == Outcome{0, "container-" + std::to_string(one.pid()) + " lives"}), outcome);
}

BOOST_AUTO_TEST_SUITE_END()
