// SPDX-License-Identifier: Apache-2.0
//
// Leases of containers that are known by their cgroup: those without a pid namespace of their own, and idle ones.
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "base/error.h"
#include "base/exit_status.h"
#include "cgroup_host.h"
#include "child.h"
#include "lease/container_cgroup.h"
#include "lease_host.h"
#include "stepped.h"

BOOST_AUTO_TEST_SUITE(lease_cgroups)

using namespace ogh;
using namespace ogh::test;
using namespace std::chrono_literals;

namespace data = boost::unit_test::data;

namespace {

constexpr int busy = static_cast<int>(ExitStatus::Busy);

const auto versions = data::make({1, 2});

struct Cgroups : CgroupHost {
    LeaseHost leases_host;

    /** A cgroup for a container; processes join it by join(). */
    std::string make_own(int version)
    {
        directory_ = version == 1 ? "v1" : "v2";
        return make(version == 1 ? Version::One : Version::Two, "c");
    }

    void join(const std::string &cgroup, pid_t pid) const
    {
        std::ofstream procs(path(directory_) + cgroup + "/cgroup.procs");
        if (!(procs << pid << std::flush))
            fail("join " + cgroup);
    }

    /** So many, each in the one before. @return the last */
    std::string nest(std::string cgroup, int depth) const
    {
        for (; depth > 0; --depth) {
            cgroup += "/n";
            check_call(::mkdir((path(directory_) + cgroup).c_str(), 0755), "mkdir " + cgroup);
        }
        return cgroup;
    }

    /** Those that nest() has made, from the last on; once nobody is in it. */
    void remove_nested(std::string last) const
    {
        for (; last.ends_with("/n"); last.erase(last.size() - 2)) {
            while (::rmdir((path(directory_) + last).c_str()) != 0 && errno == EBUSY)
                ::usleep(1000);
        }
    }

    /** A process that has ended and was waited for stands in the kernel's list for a moment longer. */
    void wait_until_alone(const std::string &cgroup, pid_t pid) const
    {
        std::string listed;
        while (listed != std::to_string(pid) + "\n") {
            std::ostringstream text;
            text << std::ifstream(path(directory_) + cgroup + "/cgroup.procs").rdbuf();
            listed = text.str();
            ::usleep(1000);
        }
    }

    LeaseRequest idle_one(const Init &init, const std::string &cgroup) const
    {
        LeaseRequest asked = LeaseHost::request(init, {"n:0"});
        asked.program = "/tmp/gdn-init";
        asked.cgroups_path = cgroup;
        return asked;
    }

    LeaseRequest next(const Init &init) const
    {
        LeaseRequest asked = LeaseHost::request(init, {"n:0"});
        asked.preemption.idle_after = asked.preemption.begin_within = 1ms;
        return asked;
    }

private:
    std::string directory_;
};

/** A process in a cgroup of version 1 that holds it up: one of a container that is paused. */
class Paused : public TempDirectory {
public:
    Paused()
    {
        check_call(::mount("none", path().c_str(), "cgroup", 0, "freezer"), "mount cgroup freezer");
        check_call(::mkdir(cgroup_.c_str(), 0755), "mkdir " + cgroup_);
        std::ofstream(cgroup_ + "/cgroup.procs") << init_.pid() << std::flush;
        set("FROZEN");
        while (state() != "FROZEN\n")
            ::usleep(1000);
    }
    Paused(const Paused &) = delete;
    Paused &operator=(const Paused &) = delete;
    ~Paused()
    {
        set("THAWED");
        init_.end();
        while (::rmdir(cgroup_.c_str()) != 0 && errno == EBUSY)
            ::usleep(1000);
        ::umount2(path().c_str(), MNT_DETACH);
    }

    [[nodiscard]] pid_t init() const { return init_.pid(); }

    [[nodiscard]] std::string state() const
    {
        std::ostringstream text;
        text << std::ifstream(cgroup_ + "/freezer.state").rdbuf();
        return text.str();
    }

private:
    void set(const char *state) const { std::ofstream(cgroup_ + "/freezer.state") << state << std::flush; }

    std::string cgroup_ = path("ogh-test-" + std::to_string(::getpid()));
    Init init_{Init::Kind::Joined};
};

} // namespace

BOOST_DATA_TEST_CASE_F(Cgroups, without_a_pid_namespace_it_lasts_until_the_cgroup_is_empty, versions, version)
{
    const std::string cgroup = make_own(version);
    Init init(Init::Kind::Joined);
    Init other(Init::Kind::Joined);
    const Init two;
    join(cgroup, init.pid());
    join(cgroup, other.pid());
    LeaseRequest asked = LeaseHost::request(init, {"n:0"});
    asked.cgroups_path = cgroup;
    BOOST_TEST(leases_host.take(asked) == 0);
    init.end();
    BOOST_TEST(leases_host.take(LeaseHost::request(two, {"n:0"})) == busy);
    other.end();
    BOOST_TEST(leases_host.take(LeaseHost::request(two, {"n:0"})) == 0);
}

BOOST_DATA_TEST_CASE_F(Cgroups, what_is_nested_too_deep_to_look_at_is_still_there, versions, version)
{
    const std::string cgroup = make_own(version);
    const std::string last = nest(cgroup, 70);
    Init init(Init::Kind::Joined);
    Init other(Init::Kind::Joined);
    const Init two;
    join(cgroup, init.pid());
    join(last, other.pid());
    LeaseRequest asked = LeaseHost::request(init, {"n:0"});
    asked.cgroups_path = cgroup;
    BOOST_TEST(leases_host.take(asked) == 0);
    BOOST_TEST(leases_host.take(LeaseHost::request(two, {"n:0"})) == busy);
    init.end();
    BOOST_TEST(leases_host.take(LeaseHost::request(two, {"n:0"})) == busy);
    BOOST_TEST(leases_host.take(LeaseHost::request(two, {"n:1"})) == 0, "others get what is theirs");
    other.end();
    remove_nested(last);
    BOOST_TEST(leases_host.take(LeaseHost::request(two, {"n:0"})) == 0);
}

BOOST_DATA_TEST_CASE_F(Cgroups, with_a_pid_namespace_it_ends_with_its_init_whoever_is_in_the_cgroup, versions,
                       version)
{
    const std::string cgroup = make_own(version);
    Init init;
    const Init other(Init::Kind::Joined);
    const Init two;
    join(cgroup, init.pid());
    join(cgroup, other.pid());
    LeaseRequest asked = LeaseHost::request(init, {"n:0"});
    asked.cgroups_path = cgroup;
    BOOST_TEST(leases_host.take(asked) == 0);
    BOOST_TEST(leases_host.take(LeaseHost::request(two, {"n:0"})) == busy);
    init.end();
    BOOST_TEST(leases_host.take(LeaseHost::request(two, {"n:0"})) == 0);
}

BOOST_DATA_TEST_CASE_F(Cgroups, an_idle_container_is_ended_for_the_next_one, versions, version)
{
    const std::string cgroup = make_own(version);
    const Init init;
    const Init two;
    join(cgroup, init.pid());
    BOOST_TEST(leases_host.take(idle_one(init, cgroup)) == 0);
    BOOST_TEST(leases_host.take(LeaseHost::request(two, {"n:0"})) == busy); // not for 10 s
    LeaseRequest none = next(two);
    none.preemption.is_allowed = false;
    BOOST_TEST(leases_host.take(none) == busy);
    {
        Init step(Init::Kind::Joined); // what a step runs
        join(cgroup, step.pid());
        BOOST_TEST(leases_host.take(next(two)) == busy);
    }
    wait_until_alone(cgroup, init.pid());
    const LeaseList before = leases_host.list(next(two).preemption);
    BOOST_TEST(before.entries.front().is_idle);
    BOOST_TEST(leases_host.take(next(two)) == 0);
    const LeaseList after = leases_host.list();
    BOOST_TEST(after.entries.size() == 1);
}

BOOST_FIXTURE_TEST_CASE(who_waits_takes_over_as_soon_as_it_may, Cgroups)
{
    const std::string cgroup = make_own(2);
    const Init init;
    const Init two;
    join(cgroup, init.pid());
    BOOST_TEST(leases_host.take(idle_one(init, cgroup)) == 0);
    std::optional<Init> step(Init::Kind::Joined);
    join(cgroup, step->pid());
    LeaseRequest asked = next(two);
    asked.preemption.idle_after = 300ms;
    asked.wait = 20s;
    Child waiter([&] {
        asked.runtime = ::getppid();
        ::_exit(leases_host.take(asked));
    });
    ::usleep(600'000);
    BOOST_TEST(::kill(waiter.pid(), 0) == 0);
    step.reset();
    BOOST_TEST(waiter.wait() == 0);
}

BOOST_FIXTURE_TEST_CASE(who_starts_something_between_the_looks_is_not_ended, Cgroups)
{
    const std::string cgroup = make_own(2);
    const Init init;
    const Init step(Init::Kind::Joined);
    const Init two;
    join(cgroup, init.pid());
    BOOST_TEST(leases_host.take(idle_one(init, cgroup)) == 0);
    ::usleep(10'000); // it has to be older than next() says
    bool has_joined = false;
    const Outcome outcome = in_stepped_child(
        [&] {
            LeaseRequest asked = next(two);
            asked.runtime = ::getppid();
            ::_exit(leases_host.take(asked));
            return std::string();
        },
        SYS_openat,
        [&](const Step &now) {
            if (now.number != SYS_ppoll || has_joined)
                return;
            join(cgroup, step.pid());
            has_joined = true;
        });
    BOOST_TEST(has_joined);
    BOOST_TEST(outcome.code == busy, outcome);
    BOOST_TEST(::waitpid(init.pid(), nullptr, WNOHANG) == 0);
}

BOOST_FIXTURE_TEST_CASE(another_program_is_never_idle, Cgroups)
{
    const std::string cgroup = make_own(2);
    const Init init;
    join(cgroup, init.pid());
    LeaseRequest asked = idle_one(init, cgroup);
    asked.program = "/usr/bin/python3";
    BOOST_TEST(leases_host.take(asked) == 0);
    BOOST_TEST(leases_host.take(next(Init())) == busy);
}

BOOST_FIXTURE_TEST_CASE(where_nothing_has_run_it_is_not_ended_until_something_has, Cgroups)
{
    const std::string cgroup = make_own(2);
    const Init init;
    const Init two;
    join(cgroup, init.pid());
    BOOST_TEST(leases_host.take(idle_one(init, cgroup)) == 0);
    LeaseRequest asked = next(two);
    asked.preemption.begin_within = 10min;
    ::usleep(10'000);
    BOOST_TEST(leases_host.take(asked) == busy);
    Child program([&] {
        join(cgroup, ::getpid());
        while (std::clock() < CLOCKS_PER_SEC / 20)
            continue;
        ::_exit(0);
    });
    BOOST_TEST(program.wait() == 0);
    wait_until_alone(cgroup, init.pid());
    BOOST_TEST(leases_host.take(asked) == 0);
}

BOOST_FIXTURE_TEST_CASE(what_was_never_started_is_ended_with_all_of_its_processes, Cgroups)
{
    const std::string cgroup = make_own(2);
    Init init(Init::Kind::Joined); // it has executed nothing
    Init other(Init::Kind::Joined);
    const Init two;
    join(cgroup, init.pid());
    join(cgroup, other.pid());
    LeaseRequest asked = LeaseHost::request(init, {"n:0"});
    asked.cgroups_path = cgroup;
    BOOST_TEST(leases_host.take(asked) == 0);
    LeaseRequest later = LeaseHost::request(two, {"n:0"});
    const Failure refused = leases_host.refusal(later);
    BOOST_TEST(refused.says("(never started)"), refused.message);
    later.preemption.start_within = 1ns;
    later.preemption.is_allowed = false;
    BOOST_TEST(leases_host.take(later) == busy);
    later.preemption.is_allowed = true;
    BOOST_TEST(leases_host.take(later) == 0);
    BOOST_TEST(leases_host.list().entries.size() == 1);
}

BOOST_FIXTURE_TEST_CASE(who_has_ended_thaws_nobody_who_has_its_number_now, Paused)
{
    const Processes processes;
    Holder holder{processes.open_pidfd(init())->id, true};
    ++holder.init.start_time;
    thaw(processes, holder);
    BOOST_TEST(state() == "FROZEN\n");
    --holder.init.start_time;
    thaw(processes, holder);
    BOOST_TEST(state() == "THAWED\n");
}

BOOST_AUTO_TEST_SUITE_END()
