// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "base/unique_fd.h"
#include "nvidia-devices/nvml/limited_program.h"
#include "support/expect.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(limited_programs)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::Failure;
using ogh::test::failure_of;
using ogh::test::TempDirectory;

namespace {

using Clock = std::chrono::steady_clock;

struct Shell {
    UniqueFd executable{::open("/bin/sh", O_PATH | O_CLOEXEC)};
    UniqueFd file{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    std::chrono::milliseconds limit{10000};
    size_t most = 4096;
    std::optional<std::vector<BoxEntry>> box = {};

    [[nodiscard]] std::string run(const std::string &script) const
    {
        return run_limited(
            {executable.get(), {"sh", "-c", script}, file.get(), limit, most, "the shell", box});
    }

    [[nodiscard]] Failure failure(const std::string &script) const
    {
        return failure_of([&] { static_cast<void>(run(script)); });
    }
};

/** What a file says after some time; "" if it is not there. */
std::string text_of(const std::string &path)
{
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

bool is_there(pid_t pid)
{
    return ::kill(pid, 0) == 0 &&
           text_of("/proc/" + std::to_string(pid) + "/stat").find(") Z ") == std::string::npos;
}

/** In the end, within a second. */
bool goes(pid_t pid)
{
    for (int i = 0; i < 100 && is_there(pid); ++i)
        ::usleep(10000);
    return !is_there(pid);
}

} // namespace

BOOST_AUTO_TEST_CASE(it_answers)
{
    const Shell shell;
    BOOST_TEST(shell.run("echo one >&3; echo two; echo three >&2; echo four >&3") == "one\nfour\n");
    BOOST_TEST(shell.run("exit 0") == "");
    BOOST_TEST(shell.run("exec 3>&-; sleep 0.1") == "");
    Shell large;
    large.most = 200000;
    BOOST_TEST(large.run("head -c 200000 /dev/zero >&3").size() == 200000U);
}

BOOST_AUTO_TEST_CASE(it_may_do_nothing)
{
    ::setenv("OGH_SECRET", "x", 1);
    const Shell shell;
    // What a shell sets by itself.
    BOOST_TEST(shell.run("env | grep -v -e ^PWD= -e ^_= -e ^OLDPWD= -e ^SHLVL= >&3; true") == "");
    ::unsetenv("OGH_SECRET");
    const std::string status = shell.run("grep -e Cap -e NoNew /proc/self/status >&3");
    for (const char *line :
         {"CapInh:\t0000000000000000\n", "CapPrm:\t0000000000000000\n", "CapEff:\t0000000000000000\n",
          "CapAmb:\t0000000000000000\n", "NoNewPrivs:\t1\n"})
        BOOST_TEST(status.find(line) != std::string::npos, status);
    const UniqueFd inherited(::fcntl(shell.file.get(), F_DUPFD, 50));
    BOOST_TEST(shell.run("ls /proc/self/fd >&3") == "0\n1\n2\n3\n4\n5\n6\n"); // 6 is the directory
    BOOST_TEST(shell.run("a=$(for i in 0 1 2; do readlink /proc/$$/fd/$i; done); echo \"$a\" >&3") ==
               "/dev/null\n/dev/null\n/dev/null\n");
    const TempDirectory directory;
    BOOST_TEST((shell.failure("echo x > " + directory.path("file")).kind == ErrorKind::BrokenHost));
    BOOST_TEST(text_of(directory.path("file")) == "");
}

BOOST_AUTO_TEST_CASE(it_is_shut_in)
{
    Shell shell;
    const UniqueFd directory(::open("/dev/pts", O_PATH | O_CLOEXEC));
    shell.box = {{shell.file.get(), "dev/null"}, {directory.get(), "dev/some/pts"}};
    // There is no program any more: all of these are the shell's own.
    const std::string ready = "echo >&5; read go <&5; exec >&3; ";
    BOOST_TEST(shell.run("ls / >&3").find("etc\n") != std::string::npos, "not yet");
    BOOST_TEST(shell.run(ready + "echo /* /dev/* /dev/some/*") ==
               "/dev /proc /sys /dev/null /dev/some /dev/some/pts\n");
    BOOST_TEST(shell.run(ready + "echo /../*; echo *; echo ../*") ==
               "/../dev /../proc /../sys\ndev proc sys\n../dev ../proc ../sys\n");
    BOOST_TEST(shell.run(ready + "echo $$; echo /proc/[0-9]* /sys/class/net/*") ==
               "2\n/proc/2 /sys/class/net/lo\n");
    const std::string status =
        shell.run(ready + "while read line; do echo \"$line\"; done </proc/self/status");
    for (const char *line : {"Uid:\t65534\t65534\t65534\t65534\n", "Gid:\t65534\t65534\t65534\t65534\n",
                             "Groups:\n", "CapPrm:\t0000000000000000\n", "CapBnd:\t", "NoNewPrivs:\t1\n"})
        BOOST_TEST(status.find(line) != std::string::npos, status);
    for (const char *path : {"/made", "/dev/made", "/dev/some/pts/made"})
        BOOST_TEST(shell.run(ready + "(: >" + path + ") 2>&1; true").find("Read-only") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(it_does_not_go_on_if_it_cannot_be_shut_in)
{
    Shell shell;
    shell.box = {{-1, "dev/null"}};
    BOOST_TEST(shell.failure("echo no >&3").says("the shell fails: cannot copy the mount of '/dev/null'"));
}

BOOST_AUTO_TEST_CASE(it_gets_a_file)
{
    const TempDirectory directory;
    directory.file("file", "text");
    Shell shell;
    shell.file = UniqueFd(::open(directory.path("file").c_str(), O_RDONLY | O_CLOEXEC));
    BOOST_TEST(shell.run("cat /proc/self/fd/4 >&3") == "text");
}

BOOST_AUTO_TEST_CASE(its_end_is_told)
{
    const Shell shell;
    BOOST_TEST(shell.failure("echo why >&3; exit 3")
                   .says("the shell fails: it ended with status 3, and says 'why'"));
    BOOST_TEST(shell.failure("kill -9 $$").says("the shell fails: it was ended by signal 9"));
    BOOST_TEST(shell.failure("head -c 5000 /dev/zero | tr '\\0' x >&3; sleep 9")
                   .says("it says more than 4096 bytes"));
    Shell none;
    none.executable = UniqueFd(::open("/dev/null", O_PATH | O_CLOEXEC));
    BOOST_TEST(none.failure("").says("it cannot be started"));
}

BOOST_AUTO_TEST_CASE(it_is_killed_with_all_that_it_started)
{
    Shell shell;
    shell.limit = std::chrono::milliseconds(300);
    const auto before = Clock::now();
    for (const char *script : {"sleep 77 & echo $! >&3; sleep 78", "exec 3>&-; sleep 78"})
        BOOST_TEST(shell.failure(script).says("it did not answer within 1 s"));
    BOOST_TEST((Clock::now() - before < std::chrono::seconds(5)));
    shell.limit = std::chrono::seconds(10);
    const std::string started = shell.run("sleep 79 & echo $! >&3");
    BOOST_TEST(goes(std::stoi(started)));
}

BOOST_AUTO_TEST_SUITE_END()
