// SPDX-License-Identifier: Apache-2.0
//
// A process that does not come to its end in time, alone and with another one that waits for it.
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/capability.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <boost/test/unit_test.hpp>

#include "base/error.h"
#include "base/exit_status.h"
#include "base/file.h"
#include "base/undo_log.h"
#include "base/unique_fd.h"
#include "child.h"
#include "kernel/end_signals.h"
#include "kernel/process.h"
#include "kernel/time_limit.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(time_limits)

using namespace ogh;
using namespace ogh::test;
namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds short_time{200};
constexpr milliseconds long_time{60000};

/** What comes out of the process that waits. */
struct Ending {
    int code = 0; ///< as Outcome::code
    std::string out;
    std::string err;
};

struct Pipe {
    UniqueFd reader;
    UniqueFd writer;

    Pipe()
    {
        std::array<int, 2> ends{};
        check_call(::pipe2(ends.data(), O_CLOEXEC), "pipe");
        reader = UniqueFd(ends[0]);
        writer = UniqueFd(ends[1]);
    }

    /** What is written until nobody holds the other end. */
    std::string to_end()
    {
        writer.reset();
        return read_all(reader.get(), 65536, "a pipe");
    }
};

/** Does what a hook does: `work` behind the limit, and an error is a line and a code. */
[[noreturn]] void run(milliseconds limit, const std::function<void()> &work)
{
    try {
        set_up_process();
        const TimeLimit time(limit);
        block_end_signals();
        limit_capabilities({CAP_SYS_ADMIN, CAP_SYS_CHROOT});
        time.go_on_in_child(", see there");
        work();
    } catch (const Error &error) {
        write_all(STDERR_FILENO, error.what(), "to stderr");
        ::_exit(static_cast<int>(exit_status(error.kind())));
    }
    ::_exit(0);
}

Ending ending_of(milliseconds limit, const std::function<void()> &work)
{
    Pipe out;
    Pipe err;
    Child child([&] {
        check_call(::dup2(out.writer.get(), STDOUT_FILENO), "dup2");
        check_call(::dup2(err.writer.get(), STDERR_FILENO), "dup2");
        run(limit, work);
    });
    Ending ending{0, out.to_end(), err.to_end()};
    ending.code = child.wait();
    return ending;
}

std::string content(const std::string &path)
{
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

/** Waits, for some seconds at most, until `reached` holds. */
bool comes(const std::function<bool()> &reached)
{
    for (int tries = 0; tries < 5000; ++tries) {
        if (reached())
            return true;
        ::usleep(1000);
    }
    return false;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_process_that_takes_too_long_is_ended_by_a_signal)
{
    Child child([] {
        set_up_process();
        const TimeLimit time(short_time);
        ::sleep(20);
    });
    BOOST_TEST(child.wait() == 128 + SIGALRM);
}

BOOST_AUTO_TEST_CASE(output_and_exit_code_are_those_of_the_child)
{
    const Ending ending = ending_of(long_time, [] {
        write_all(STDOUT_FILENO, "a plan\n", "");
        write_all(STDERR_FILENO, "a warning\n", "");
        throw Error(ErrorKind::Denied, "refused");
    });
    BOOST_TEST(ending.code == 5);
    BOOST_TEST(ending.out == "a plan\n");
    BOOST_TEST(ending.err == "a warning\nrefused");
    BOOST_TEST(ending_of(long_time, [] {}).code == 0);
}

BOOST_AUTO_TEST_CASE(a_child_that_takes_too_long_is_killed)
{
    const Ending ending = ending_of(short_time, [] {
        const std::string pid = std::to_string(::getpid()) + "\n";
        write_all(STDERR_FILENO, pid, "");
        for (;;)
            ::pause();
    });
    const std::string pid = ending.err.substr(0, ending.err.find('\n'));
    BOOST_TEST(ending.code == 1);
    BOOST_TEST(ending.err == pid + "\ngave up after 0 s, see there");
    BOOST_TEST(!fs::exists("/proc/" + pid));
}

BOOST_FIXTURE_TEST_CASE(a_child_is_told_to_end_and_takes_back_what_it_has_done, TempDirectory)
{
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
        Pipe err;
        Child hook([&] {
            check_call(::dup2(err.writer.get(), STDERR_FILENO), "dup2");
            run(long_time, [&] {
                UndoLog undo;
                std::ofstream(path("done")) << "done" << std::flush;
                undo.add([&] { fs::remove(path("done")); });
                for (;;) {
                    check_end_signals("working");
                    ::usleep(1000);
                }
            });
        });
        BOOST_REQUIRE(comes([&] { return content(path("done")) == "done"; }));
        ::kill(hook.pid(), number);
        BOOST_TEST(err.to_end().ends_with(" while working"));
        BOOST_TEST(hook.wait() == 1);
        BOOST_TEST(!fs::exists(path("done")));
    }
}

BOOST_AUTO_TEST_CASE(a_process_that_looks_ends_itself_before_the_signal)
{
    Child child([] {
        set_up_process();
        const TimeLimit time(short_time);
        const Cancellation cancellation(&time);
        try {
            for (;;) {
                cancellation.check("working");
                ::usleep(1000);
            }
        } catch (const Cancelled &error) {
            ::_exit(std::string(error.what()) == "gave up after 0 s while working" ? 7 : 8);
        }
    });
    BOOST_TEST(child.wait() == 7);
}

BOOST_AUTO_TEST_CASE(a_child_that_is_killed_by_others_is_an_error)
{
    const Ending ending = ending_of(long_time, [] { ::raise(SIGKILL); });
    BOOST_TEST(ending.code == 1);
    BOOST_TEST(ending.err == "the process that did the work was ended by signal 9");
}

BOOST_FIXTURE_TEST_CASE(a_child_holds_nothing_of_the_caller, TempDirectory)
{
    const Ending ending = ending_of(long_time, [] {
        std::string seen;
        for (int fd = 0; fd < 3; ++fd)
            seen += fs::read_symlink("/proc/self/fd/" + std::to_string(fd)).string() + " ";
        write_all(STDOUT_FILENO, seen, "");
    });
    BOOST_TEST(ending.out == "/dev/null /memfd:output (deleted) /memfd:output (deleted) ");
}

BOOST_FIXTURE_TEST_CASE(a_child_does_not_outlive_a_parent_that_is_killed, TempDirectory)
{
    const Child parent([&] {
        run(long_time, [&] {
            std::ofstream(path("pid")) << ::getpid() << std::endl;
            for (;;)
                ::pause();
        });
    });
    BOOST_REQUIRE(comes([&] { return content(path("pid")).ends_with('\n'); }));
    const int pid = std::stoi(content(path("pid")));
    const UniqueFd held(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    BOOST_REQUIRE(held.valid());
    parent.kill();
    pollfd entry{held.get(), POLLIN, 0};
    BOOST_TEST(::poll(&entry, 1, 10000) == 1);
}

BOOST_AUTO_TEST_CASE(a_child_can_give_up_capabilities)
{
    const Ending ending = ending_of(long_time, [] {
        drop_capabilities({CAP_SYS_CHROOT});
        require_capabilities({CAP_SYS_ADMIN, CAP_SYS_CHROOT}, "this");
    });
    BOOST_TEST(ending.err == "this needs CAP_SYS_CHROOT, which this process lacks");
}

BOOST_AUTO_TEST_SUITE_END()
