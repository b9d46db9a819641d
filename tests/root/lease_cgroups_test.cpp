// SPDX-License-Identifier: Apache-2.0
//
// Leases of containers that are known by their cgroup: those without a pid namespace of their own, and idle ones.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <linux/futex.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "base/error.h"
#include "base/exit_status.h"
#include "cgroup_host.h"
#include "child.h"
#include "lease/presence/container_cgroup.h"
#include "lease/presence/eviction.h"
#include "lease/presence/rest.h"
#include "lease_host.h"
#include "stepped.h"
#include "support/device_programs.h"

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
        asked.idle_init = true;
        asked.cgroups_path = cgroup;
        return asked;
    }

    /** A container that has a lease, and another process besides its init, in its cgroup or one below. */
    void start_with_another(const std::string &cgroup, const Init &init, const std::string &below,
                            const Init &other) const
    {
        join(cgroup, init.pid());
        join(below, other.pid());
        LeaseRequest asked = LeaseHost::request(init, {"n:0"});
        asked.cgroups_path = cgroup;
        BOOST_TEST(leases_host.take(asked) == 0);
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

/** An idle container of which it is known what its device cgroup allows for its device. */
struct Deprivable : Cgroups {
    const Init init{Init::Kind::Started};
    const Init two;
    std::string cgroup;
    DeviceRule device = node(0);

    void start(int version)
    {
        cgroup = make_own(version);
        version_ = version == 1 ? Version::One : Version::Two;
        if (version == 1)
            write(cgroup, "devices.deny", "a");
        else
            attach(open(Version::Two, cgroup).get(), like_runc(usual_lines()), BPF_F_ALLOW_MULTI);
        join(cgroup, init_->pid());
        Leases leases{Sysroot(leases_host.path())};
        Lease lease = leases.take(idle_one(*init_, cgroup));
        lease.note_rules({device});
        lease.keep();
        DeviceCgroups container = device_cgroups_of(init_->pid(), cgroup);
        UndoLog undo;
        container.allow({device}, undo);
        undo.drop();
    }

    /**
     * The other one takes it, and at the change of that number (a file is written, or a program of the kernel's) something happens.
     * @param more a system call that counts as well
     */
    [[nodiscard]] Outcome take_stepped(int number, const std::function<void(const Step &)> &happens,
                                       long more = -1) const
    {
        int changes = 0;
        return in_stepped_child(
            [&] {
                LeaseRequest asked = next(two);
                asked.preemption.begin_within = asked.preemption.idle_after = 0ns;
                ::_exit(leases_host.take(asked));
                return std::string();
            },
            SYS_openat,
            [&](const Step &now) {
                const bool is_change = now.number == SYS_write || now.number == SYS_renameat ||
                                       now.number == SYS_bpf || now.number == SYS_pidfd_open ||
                                       now.number == more;
                if (is_change && changes++ == number)
                    happens(now);
            });
    }

    /** Whether a process in the cgroup can. */
    [[nodiscard]] bool can_open() const
    {
        return answers(version_, cgroup).find(to_text(device)) != std::string::npos;
    }

    [[nodiscard]] bool holds(const Init &one) const
    {
        const auto all = leases_host.lease_state().allocations;
        return std::any_of(all.begin(), all.end(),
                           [&](const Allocation &each) { return each.holder.init.pid == one.pid(); });
    }

    const Init *init_ = &init;

private:
    Version version_ = Version::One;
};

/** What an Init's program is given: a FIFO that hears of it, and a node. */
using Words = std::vector<std::string>;

void say_done(const Words &words)
{
    const UniqueFd done(::open(words[0].c_str(), O_WRONLY | O_CLOEXEC));
    check_call(::write(done.get(), "\n", 1), "write to a FIFO");
}

/** So that an init gets them too. */
sigset_t block_signals()
{
    sigset_t all{};
    ::sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
    ::sigemptyset(&all);
    ::sigaddset(&all, SIGUSR1);
    return all;
}

void wait_until_told()
{
    const sigset_t signals = block_signals();
    ::sigwaitinfo(&signals, nullptr);
}

void open_when_told(const Words &words)
{
    block_signals();
    say_done(words);
    wait_until_told();
    ::open(words[1].c_str(), O_RDWR);
    say_done(words);
}

void move_when_told(const Words &words)
{
    block_signals();
    ::dup2(::open(words[1].c_str(), O_RDWR), 9);
    ::close_range(3, 8, 0);
    say_done(words);
    wait_until_told();
    ::dup2(9, 8);
    ::close(9);
    say_done(words);
}

/** An init that only waits, and does something when it is told to. */
class Told : public TempDirectory {
public:
    Told(Init::Program program, const std::string &node)
    {
        init.emplace(program, Words{path("done"), node});
        wait_for_it();
    }

    /** Until it has done it, or has ended. */
    void tell() const
    {
        ::kill(init->pid(), SIGUSR1);
        wait_for_it();
    }

    [[nodiscard]] bool has_open(const std::string &node) const
    {
        std::error_code error;
        for (const auto &each :
             std::filesystem::directory_iterator("/proc/" + std::to_string(init->pid()) + "/fd", error)) {
            if (std::filesystem::read_symlink(each.path(), error) == node)
                return true;
        }
        return false;
    }

    std::optional<Init> init;

private:
    void wait_for_it() const
    {
        const auto held = Processes().open_pidfd(init->pid());
        char line = 0;
        while (held && !has_ended(held->pidfd.get(), 1) && ::read(done_.get(), &line, 1) != 1)
            continue;
    }

    [[nodiscard]] UniqueFd fifo(const char *name) const
    {
        check_call(::mkfifo(path(name).c_str(), 0600), "mkfifo");
        return UniqueFd(::open(path(name).c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    }

    UniqueFd done_{fifo("done")};
};

/** Another process has the same descriptors, closes that one when it is told to, and ends. */
void have_it_closed(int file, const Words &words)
{
    std::signal(SIGCHLD, SIG_IGN);
    block_signals();
    if (::syscall(SYS_clone, CLONE_FILES | SIGCHLD, nullptr, nullptr, nullptr, nullptr) != 0)
        return say_done(words);
    wait_until_told();
    ::close(file);
    ::_exit(0);
}

void poll_what_is_closed(const Words &words)
{
    pollfd waits_for{::open(words[1].c_str(), O_RDWR), 0, 0};
    have_it_closed(waits_for.fd, words);
    ::poll(&waits_for, 1, -1);
}

void send_what_is_closed(const Words &words)
{
    const int file = ::open(words[1].c_str(), O_RDWR);
    int ends[2] = {};
    check_call(::pipe2(ends, O_NONBLOCK), "pipe2");
    while (::write(ends[1], "full", 1) == 1)
        continue;
    check_call(::fcntl(ends[1], F_SETFL, 0), "fcntl");
    have_it_closed(file, words);
    ::sendfile(ends[1], file, nullptr, 1);
}

void read_from_a_pipe(const Words & /*words*/)
{
    int ends[2] = {};
    check_call(::pipe(ends), "pipe");
    char byte = 0;
    static_cast<void>(::read(ends[0], &byte, 1));
}

void suspend(const Words & /*words*/)
{
    sigset_t none{};
    ::sigemptyset(&none);
    ::sigsuspend(&none);
}

void wait_for_a_signal(const Words & /*words*/)
{
    wait_until_told();
}

void sleep_long(const Words & /*words*/)
{
    ::sleep(1000);
}

void sleep_by_poll(const Words & /*words*/)
{
    ::poll(nullptr, 0, -1);
}

void sleep_by_select(const Words & /*words*/)
{
    ::select(0, nullptr, nullptr, nullptr, nullptr);
}

void wait_for_a_futex(const Words & /*words*/)
{
    int word = 0;
    ::syscall(SYS_futex, &word, FUTEX_WAIT, 0, nullptr, nullptr, 0);
}

void just_pause(const Words & /*words*/) {}

/** Until an init whose program waits for no file does so: it has been executed, and may have more to do before. */
void wait_for_rest(pid_t pid)
{
    const Processes processes;
    while (!sleeps_lightly(processes.read(pid, "stat").value_or("")) ||
           !waits_for_no_file(processes.read(pid, "syscall").value_or("")))
        ::usleep(1000);
}

/** Starts a process in the pid namespace of an init, with which it ends. @param flags of unshare(2) */
Child start_beside(const Init &init, int flags = 0)
{
    Child step([&] {
        const UniqueFd held(static_cast<int>(::syscall(SYS_pidfd_open, init.pid(), 0)));
        check_call(::setns(held.get(), CLONE_NEWPID), "setns");
        Child inside([&] {
            check_call(::unshare(flags), "unshare");
            if (::fork() == 0)
                ::pause();
        });
        inside.wait();
        ::raise(SIGSTOP);
    });
    ::waitpid(step.pid(), nullptr, WUNTRACED);
    return step;
}

pid_t process_beside(const Init &init)
{
    const Processes processes;
    PidNamespace own(processes, processes.pid_namespace_of(std::to_string(init.pid())).value());
    for (const pid_t pid : processes.all()) {
        if (pid != init.pid() && own.has(pid))
            return pid;
    }
    throw std::runtime_error("there is none");
}

/** An init that does that at each step of taking its device; one of both has it afterwards. */
void check_at_each_step(Init::Program program, long more = -1)
{
    int change = 0;
    for (bool reached = true; reached; ++change) {
        Deprivable host;
        host.device = {DeviceRule::Type::Char, 1, 5, access_read | access_write};
        const std::string node = host.path("dev/c1-5");
        const Told told(program, node);
        host.init_ = &*told.init;
        host.start(1);
        reached = false;
        const Outcome outcome = host.take_stepped(
            change,
            [&](const Step & /*now*/) {
                told.tell();
                reached = true;
            },
            more);
        BOOST_TEST_CONTEXT("change " << change)
        {
            BOOST_TEST(outcome.code == 0, outcome);
            BOOST_TEST(host.holds(host.two));
            BOOST_TEST(!told.has_open(node), "both have it");
        }
    }
    BOOST_TEST(change > 5);
    BOOST_TEST_MESSAGE("told at each of " << change << " changes");
}

/** A process in a cgroup of version 1 that holds it up: one of a container that is paused. */
class Paused : public TempDirectory {
public:
    /** @param pid of another process that is paused, in a cgroup below */
    explicit Paused(pid_t pid = 0) : frozen_(cgroup_ + (pid == 0 ? "" : "/below"))
    {
        check_call(::mount("none", path().c_str(), "cgroup", 0, "freezer"), "mount cgroup freezer");
        check_call(::mkdir(cgroup_.c_str(), 0755), "mkdir " + cgroup_);
        check_call(pid == 0 ? 0 : ::mkdir(frozen_.c_str(), 0755), "mkdir " + frozen_);
        std::ofstream(frozen_ + "/cgroup.procs") << (pid == 0 ? init_.pid() : pid) << std::flush;
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
        for (const std::string &each : {frozen_, cgroup_}) {
            while (::rmdir(each.c_str()) != 0 && errno == EBUSY)
                ::usleep(1000);
        }
        ::umount2(path().c_str(), MNT_DETACH);
    }

    [[nodiscard]] std::string cgroup() const
    {
        return "/" + std::filesystem::path(cgroup_).filename().string();
    }

    [[nodiscard]] pid_t init() const { return init_.pid(); }

    [[nodiscard]] std::string state() const
    {
        std::ostringstream text;
        text << std::ifstream(frozen_ + "/freezer.state").rdbuf();
        return text.str();
    }

private:
    void set(const char *state) const { std::ofstream(frozen_ + "/freezer.state") << state << std::flush; }

    std::string cgroup_ = path("ogh-test-" + std::to_string(::getpid()));
    std::string frozen_;
    Init init_{Init::Kind::Joined};
};

} // namespace

BOOST_DATA_TEST_CASE_F(Cgroups, without_a_pid_namespace_it_lasts_until_the_cgroup_is_empty, versions, version)
{
    const std::string cgroup = make_own(version);
    Init init(Init::Kind::Joined);
    Init other(Init::Kind::Joined);
    const Init two;
    start_with_another(cgroup, init, cgroup, other);
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
    start_with_another(cgroup, init, last, other);
    BOOST_TEST(leases_host.take(LeaseHost::request(two, {"n:0"})) == busy);
    init.end();
    BOOST_TEST(leases_host.take(LeaseHost::request(two, {"n:0"})) == busy);
    BOOST_TEST(leases_host.take(LeaseHost::request(two, {"n:1"})) == 0, "others get what is theirs");
    other.end();
    remove_nested(last);
    BOOST_TEST(leases_host.take(LeaseHost::request(two, {"n:0"})) == 0);
}

BOOST_FIXTURE_TEST_CASE(what_is_renamed_while_it_is_looked_at_is_still_there, Cgroups)
{
    const std::string cgroup = make_own(1); // the other version renames none
    std::string now = nest(cgroup, 1);
    std::string then = cgroup + "/other";
    Init init(Init::Kind::Joined);
    Init other(Init::Kind::Joined);
    const Init two;
    start_with_another(cgroup, init, now, other);
    init.end();
    const auto outcome = in_stepped_child(
        [&] {
            ::_exit(leases_host.take(LeaseHost::request(two, {"n:0"})));
            return std::string();
        },
        SYS_openat,
        [&](const Step &step) {
            if (step.number != SYS_openat)
                return;
            check_call(::rename(path("v1" + now).c_str(), path("v1" + then).c_str()), "rename");
            std::swap(now, then);
        });
    BOOST_TEST(outcome.code == busy);
    other.end();
    while (::rmdir(path("v1" + now).c_str()) != 0 && errno == EBUSY)
        ::usleep(1000);
}

BOOST_DATA_TEST_CASE_F(Cgroups, with_a_pid_namespace_it_ends_with_its_init_whoever_is_in_the_cgroup, versions,
                       version)
{
    const std::string cgroup = make_own(version);
    Init init;
    const Init other(Init::Kind::Joined);
    const Init two;
    start_with_another(cgroup, init, cgroup, other);
    BOOST_TEST(leases_host.take(LeaseHost::request(two, {"n:0"})) == busy);
    init.end();
    BOOST_TEST(leases_host.take(LeaseHost::request(two, {"n:0"})) == 0);
}

BOOST_DATA_TEST_CASE_F(Cgroups, an_idle_container_is_ended_for_the_next_one, versions, version)
{
    const std::string cgroup = make_own(version);
    const Init init{Init::Kind::Started};
    const Init two;
    join(cgroup, init.pid());
    BOOST_TEST(leases_host.take(idle_one(init, cgroup)) == 0);
    LeaseRequest early = next(two);
    early.preemption.idle_after = early.preemption.begin_within = 1h;
    BOOST_TEST_REQUIRE(leases_host.take(early) == busy);
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
    BOOST_TEST((before.entries.front().why == PreemptReason::Idle));
    BOOST_TEST(leases_host.take(next(two)) == 0);
    const LeaseList after = leases_host.list();
    BOOST_TEST(after.entries.size() == 1);
}

BOOST_DATA_TEST_CASE_F(Deprivable, the_devices_of_an_idle_container_are_taken_and_it_lives, versions, version)
{
    start(version);
    BOOST_TEST(can_open());
    {
        Init step(Init::Kind::Joined);
        join(cgroup, step.pid());
        BOOST_TEST(leases_host.take(next(two)) == busy);
    }
    wait_until_alone(cgroup, init.pid());
    BOOST_TEST(leases_host.take(next(two)) == 0);
    BOOST_TEST(!can_open());
    BOOST_TEST(::waitpid(init.pid(), nullptr, WNOHANG) == 0);
    const LeaseList after = leases_host.list();
    BOOST_TEST_REQUIRE(after.entries.size() == 2U);
    BOOST_TEST(after.entries[0].pid == two.pid());
    BOOST_TEST(after.entries[1].is_deprived);
    BOOST_TEST(after.entries[1].idle_since != 0);
}

BOOST_DATA_TEST_CASE_F(Deprivable, who_is_killed_at_any_step_leaves_one_of_both_with_it, versions, version)
{
    start(version);
    int change = 0;
    for (bool reached = true; reached; ++change) {
        reached = false;
        const Outcome outcome = take_stepped(change, [&](const Step &now) {
            ::kill(now.pid, SIGKILL);
            reached = true;
        });
        BOOST_TEST_CONTEXT("change " << change)
        {
            BOOST_TEST(outcome.code == (reached ? 128 + SIGKILL : 0), outcome);
            const bool is_seconds = holds(two);
            BOOST_TEST(holds(init) != is_seconds);
            BOOST_TEST(!(is_seconds && can_open()), "both have it");
            if (is_seconds)
                break;
            LeaseRequest next_one = next(two); // it looks, and takes nothing
            next_one.preemption.is_allowed = false;
            BOOST_TEST(leases_host.take(next_one) == busy);
            BOOST_TEST(can_open(), "what is left is put back");
        }
    }
    BOOST_TEST(change > 5);
    BOOST_TEST(!can_open());
    BOOST_TEST_MESSAGE("killed at each of " << change << " changes");
}

BOOST_DATA_TEST_CASE_F(Deprivable, a_process_that_comes_meanwhile_keeps_the_devices, versions, version)
{
    start(version);
    int change = 0;
    for (bool is_taken = false; !is_taken; ++change) {
        const Init step(Init::Kind::Joined);
        wait_until_alone(cgroup, init.pid());
        bool has_joined = false;
        bool could_open = false;
        const Outcome outcome = take_stepped(change, [&](const Step & /*now*/) {
            could_open = can_open();
            join(cgroup, step.pid());
            has_joined = true;
        });
        is_taken = outcome.code == 0;
        BOOST_TEST_CONTEXT("change " << change)
        {
            BOOST_TEST((is_taken || (has_joined && outcome.code == busy)), outcome);
            BOOST_TEST(holds(init) == !is_taken);
            BOOST_TEST(can_open() == !is_taken);
            BOOST_TEST(!(is_taken && could_open), "who came could open it before it was taken away");
        }
    }
    BOOST_TEST(change > 3);
    BOOST_TEST_MESSAGE("came before each of " << change << " changes");
}

BOOST_FIXTURE_TEST_CASE(an_init_that_could_keep_the_device_open_is_ended, Deprivable)
{
    const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM, 0)); // init has it as well
    const Init heir{Init::Kind::Started};
    init_ = &heir;
    start(1);
    LeaseRequest asked = next(two);
    asked.preemption.begin_within = 0ns;
    BOOST_TEST(leases_host.take(asked) == 0);
    BOOST_TEST(::waitpid(heir.pid(), nullptr, WNOHANG) == heir.pid());
}

BOOST_AUTO_TEST_CASE(an_init_with_another_device_open_is_ended)
{
    for (const char *file :
         {"/dev/null",
          "/dev/loop-control"}) { // that one is of no driver's of GPUs, and not known to be harmless
        Deprivable host;
        const UniqueFd open(::open(file, O_RDONLY)); // init has it as well
        const Init heir{Init::Kind::Started};
        host.init_ = &heir;
        host.start(1);
        LeaseRequest asked = host.next(host.two);
        asked.preemption.begin_within = 0ns;
        BOOST_TEST(host.leases_host.take(asked) == 0);
        const bool has_ended = ::waitpid(heir.pid(), nullptr, WNOHANG) == heir.pid();
        BOOST_TEST(has_ended == (std::string(file) != "/dev/null"), file);
    }
}

static void open_many(const Words & /*words*/)
{
    rlimit limit{};
    check_call(::getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
    limit.rlim_cur = limit.rlim_max; // 1024 as a rule
    check_call(::setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
    for (int left = 1100; left > 0; --left)
        check_call(::dup(STDIN_FILENO), "dup");
}

BOOST_AUTO_TEST_CASE(an_init_with_more_open_files_than_are_looked_at_is_ended)
{
    for (const auto program : {just_pause, open_many}) {
        Deprivable host;
        const Init opener(program);
        host.init_ = &opener;
        host.start(1);
        wait_for_rest(opener.pid());
        LeaseRequest asked = host.next(host.two);
        asked.preemption.begin_within = 0ns;
        BOOST_TEST(host.leases_host.take(asked) == 0);
        const bool has_ended = ::waitpid(opener.pid(), nullptr, WNOHANG) == opener.pid();
        BOOST_TEST(has_ended == (program == open_many));
    }
}

/** KFD's list of processes, where this host has none; whoever is in it. */
struct KfdList {
    explicit KfdList(pid_t pid)
    {
        check_call(::mount("none", "/sys/class", "tmpfs", 0, nullptr), "mount tmpfs");
        std::filesystem::create_directories("/sys/class/kfd/kfd/proc/" + std::to_string(pid));
    }
    KfdList(const KfdList &) = delete;
    KfdList &operator=(const KfdList &) = delete;
    ~KfdList() { ::umount2("/sys/class", MNT_DETACH); }
};

BOOST_FIXTURE_TEST_CASE(an_init_that_kfd_knows_is_ended, Deprivable)
{
    const Init heir{Init::Kind::Started};
    init_ = &heir;
    start(1);
    const KfdList known(heir.pid());
    LeaseRequest asked = next(two);
    asked.preemption.begin_within = 0ns;
    BOOST_TEST(leases_host.take(asked) == 0);
    BOOST_TEST(::waitpid(heir.pid(), nullptr, WNOHANG) == heir.pid());
}

BOOST_FIXTURE_TEST_CASE(a_filesystem_that_never_answers_holds_nobody_up, Deprivable)
{
    const TempDirectory directory;
    const UniqueFd server(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
    const std::string options = "fd=" + std::to_string(server.get()) + ",rootmode=40000,user_id=0,group_id=0";
    check_call(::mount("none", directory.path().c_str(), "fuse", 0, options.c_str()), "mount fuse");
    const UniqueFd file(::open(directory.path().c_str(), O_PATH)); // init has it as well
    const Init heir{Init::Kind::Started};
    init_ = &heir;
    start(1);
    LeaseRequest asked = next(two);
    asked.preemption.begin_within = 0ns;
    std::signal(SIGALRM, SIG_DFL); // nothing less ends it
    ::alarm(20);
    BOOST_TEST(leases_host.take(asked) == 0);
    ::alarm(0);
    ::umount2(directory.path().c_str(), MNT_DETACH);
    BOOST_TEST(::waitpid(heir.pid(), nullptr, WNOHANG) == 0);
}

BOOST_AUTO_TEST_CASE(an_init_that_opens_the_device_while_it_is_taken_does_not_keep_it)
{
    check_at_each_step(open_when_told);
}

BOOST_AUTO_TEST_CASE(an_init_that_moves_its_descriptors_while_they_are_looked_at_does_not_keep_it)
{
    check_at_each_step(move_when_told,
                       SYS_getdents64); // the names are read, and looked up afterwards
}

/** Which system call it is in; "" if that is unknown. */
static std::string call_of(pid_t pid)
{
    std::string number;
    std::ifstream("/proc/" + std::to_string(pid) + "/syscall") >> number;
    return number;
}

struct Hiding {
    Init::Program program;
    long call;
};

BOOST_AUTO_TEST_CASE(an_init_whose_system_call_keeps_the_device_open_is_ended)
{
    for (const auto &[program, call] :
         {Hiding{poll_what_is_closed, SYS_poll}, Hiding{send_what_is_closed, SYS_sendfile}}) {
        Deprivable host;
        host.device = {DeviceRule::Type::Char, 1, 5, access_read | access_write};
        const std::string node = host.path("dev/c1-5");
        const Told told(program, node);
        while (call_of(told.init->pid()) != std::to_string(call))
            ::usleep(1000);
        ::kill(process_beside(*told.init), SIGUSR1);
        while (told.has_open(node))
            ::usleep(1000);
        host.init_ = &*told.init;
        host.start(1);
        LeaseRequest asked = host.next(host.two);
        asked.preemption.begin_within = 0ns;
        while (host.leases_host.take(asked) == busy) // the other process is about to end
            ::usleep(1000);
        BOOST_TEST(host.holds(host.two));
        BOOST_TEST(::waitpid(told.init->pid(), nullptr, WNOHANG) == told.init->pid());
    }
}

BOOST_AUTO_TEST_CASE(an_init_that_waits_for_no_file_lives)
{
    for (const auto program : {just_pause, suspend, wait_for_a_signal, sleep_long, sleep_by_poll,
                               sleep_by_select, wait_for_a_futex}) {
        Deprivable host;
        const Init waiting(program);
        host.init_ = &waiting;
        host.start(1);
        wait_for_rest(waiting.pid());
        LeaseRequest asked = host.next(host.two);
        asked.preemption.begin_within = 0ns;
        BOOST_TEST(host.leases_host.take(asked) == 0);
        BOOST_TEST(!host.can_open());
        BOOST_TEST(::waitpid(waiting.pid(), nullptr, WNOHANG) == 0);
    }
}

BOOST_FIXTURE_TEST_CASE(what_an_init_that_does_not_rest_has_open_is_not_looked_at, Deprivable)
{
    const Init reading(read_from_a_pipe);
    init_ = &reading;
    start(1);
    std::set<std::string> listed;
    const auto look = [&](const Step &now) {
        if (now.number != SYS_getdents64)
            return;
        const std::string process = "/proc/" + std::to_string(now.pid);
        std::string number;
        std::string fd;
        std::ifstream(process + "/syscall") >> number >> fd;
        const std::string opened = process + "/fd/" + std::to_string(std::stoi(fd, nullptr, 16));
        listed.insert(std::filesystem::read_symlink(opened).string());
    };
    const Outcome outcome = in_stepped_child(
        [&] {
            LeaseRequest asked = next(two);
            asked.preemption.begin_within = 0ns;
            ::_exit(leases_host.take(asked));
            return std::string();
        },
        SYS_openat, look);
    BOOST_TEST(outcome.code == 0, outcome);
    BOOST_TEST(::waitpid(reading.pid(), nullptr, WNOHANG) == reading.pid());
    BOOST_TEST(listed.contains("/proc"));
    for (const char *directory : {"/fd", "/map_files"})
        BOOST_TEST(!listed.contains("/proc/" + std::to_string(reading.pid()) + directory));
}

BOOST_AUTO_TEST_CASE(a_pid_namespace_is_walked_through_once)
{
    const Init init;
    const Child step = start_beside(init, CLONE_NEWPID);
    const pid_t nested = process_beside(init);
    int walked = 0;
    const auto outcome = in_stepped_child(
        [&] {
            const Processes processes;
            PidNamespace none(processes, 1); // a number that no namespace has
            for (int looks = 0; looks < 3; ++looks)
                static_cast<void>(none.has(nested));
            return std::string();
        },
        SYS_openat, [&](const Step &now) { walked += now.number == SYS_ioctl ? 1 : 0; });
    BOOST_TEST(outcome.code == 0, outcome.text);
    BOOST_TEST(walked > 0);
    BOOST_TEST(walked < 3);
}

BOOST_DATA_TEST_CASE(a_process_that_has_left_the_cgroup_keeps_the_devices, versions, version)
{
    for (const int nested : {0, CLONE_NEWPID}) {
        Deprivable host;
        host.start(version);
        const Child step = start_beside(host.init, nested);
        BOOST_TEST(host.leases_host.take(host.next(host.two)) == busy);
        BOOST_TEST(host.can_open());
        BOOST_TEST(host.holds(host.init));
    }
}

BOOST_DATA_TEST_CASE_F(Deprivable, an_init_that_has_moved_to_a_cgroup_of_the_same_name_is_found_out, versions,
                       version)
{
    start(version);
    const Version kind = version == 1 ? Version::One : Version::Two;
    const std::string name = cgroup.substr(1);
    make(kind, "c/" + name.substr(0, name.find('/')));
    join(make(kind, "c/" + name), init.pid());
    BOOST_TEST(leases_host.take(next(two)) == 0);
    BOOST_TEST(holds(two));
    BOOST_TEST((!can_open() || ::waitpid(init.pid(), nullptr, WNOHANG) == init.pid()), "both have it");
}

BOOST_FIXTURE_TEST_CASE(who_waits_takes_over_as_soon_as_it_may, Cgroups)
{
    const std::string cgroup = make_own(2);
    const Init init{Init::Kind::Started};
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

/** Whether it is about to wait 100 ms for one descriptor, by poll(2). */
static bool waits_for_the_second_look(const Step &now)
{
    std::ostringstream call; // its number and arguments
    call << std::ifstream("/proc/" + std::to_string(now.pid) + "/syscall").rdbuf();
    return now.number == SYS_poll && call.str().find(" 0x1 0x64 ") != std::string::npos;
}

BOOST_FIXTURE_TEST_CASE(who_starts_something_between_the_looks_is_not_ended, Cgroups)
{
    const std::string cgroup = make_own(2);
    const Init init{Init::Kind::Started};
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
            if (has_joined || !waits_for_the_second_look(now))
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
    const Init init{Init::Kind::Started};
    join(cgroup, init.pid());
    LeaseRequest asked = idle_one(init, cgroup);
    asked.idle_init = false;
    BOOST_TEST(leases_host.take(asked) == 0);
    BOOST_TEST(leases_host.take(next(Init())) == busy);
}

BOOST_FIXTURE_TEST_CASE(where_nothing_has_run_it_is_not_ended_until_something_has, Cgroups)
{
    const std::string cgroup = make_own(2);
    const Init init{Init::Kind::Started};
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
    start_with_another(cgroup, init, cgroup, other);
    LeaseRequest later = LeaseHost::request(two, {"n:0"});
    const Failure refused = leases_host.refusal(later);
    BOOST_TEST(refused.says("(never started)"), refused.message);
    later.preemption.begin_within = 1ns;
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

BOOST_AUTO_TEST_CASE(one_that_has_frozen_a_process_itself_is_ended)
{
    const Init init;
    const Child step = start_beside(init);
    const Paused paused(process_beside(init));
    const Processes processes;
    Holder holder{processes.open_pidfd(init.pid())->id, true, OwnCgroup{"freezer", paused.cgroup(), 0}};
    BOOST_TEST(evict(processes, {holder, PreemptReason::HeldTooLong}).has_ended);
    BOOST_TEST(!processes.find(holder.init).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
