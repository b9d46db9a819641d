// SPDX-License-Identifier: Apache-2.0
//
// What set_up_process() and limit_capabilities() leave of how the process was started.
#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/capability.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "base/error.h"
#include "build_config.h"
#include "child.h"
#include "kernel/process.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(process)

using namespace ogh;
using namespace ogh::test;
namespace data = boost::unit_test::data;
namespace fs = std::filesystem;

namespace {

/** Runs a child and looks at it from within; it tells by way of a file, since it may close everything. */
struct Process : TempDirectory {
    /** What `look` says in a child after `before` and set_up_process(). */
    [[nodiscard]] std::string after(const std::function<void()> &before, const Work &look) const
    {
        Child child([&] {
            before();
            set_up_process();
            const std::string seen = look();
            std::ofstream(path("seen")) << seen;
        });
        BOOST_TEST(child.wait() == 0);
        std::ostringstream seen;
        seen << std::ifstream(path("seen")).rdbuf();
        return seen.str();
    }
};

/** The line of /proc/self/status. */
std::string status(const std::string &name)
{
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(name + ":\t"))
            return line.substr(name.size() + 2);
    }
    return "none";
}

/** The open descriptors and what they refer to: "0=/dev/null 1=pipe…". */
std::string descriptors()
{
    std::map<int, std::string> open;
    for (int fd = 0; fd < 1024; ++fd) {
        std::error_code error;
        const fs::path target = fs::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
        if (!error)
            open[fd] = target;
    }
    std::string text;
    for (const auto &[fd, target] : open)
        text += std::to_string(fd) + "=" + target + " ";
    return text;
}

std::string mask(const std::vector<unsigned> &capabilities)
{
    std::uint64_t bits = 0;
    for (const unsigned capability : capabilities)
        bits |= std::uint64_t{1} << capability;
    std::ostringstream text;
    text << std::hex;
    text.width(16);
    text.fill('0');
    text << bits;
    return text.str();
}

void nothing() {}

} // namespace

BOOST_FIXTURE_TEST_CASE(descriptors_above_2_are_closed, Process)
{
    const auto leak = [] {
        for (int fd : {0, 1, 2})
            check_call(::dup2(::open("/dev/zero", O_RDWR), fd), "dup2");
        for (int fd : {3, 5, 100, 1000})
            check_call(::dup2(0, fd), "dup2");
    };
    BOOST_TEST(after(leak, descriptors) == "0=/dev/zero 1=/dev/zero 2=/dev/zero ");
}

BOOST_DATA_TEST_CASE_F(Process, missing_standard_descriptors_become_dev_null,
                       data::make({0, 1, 2, 3, 4, 5, 6, 7}), missing)
{
    const auto close_some = [missing = missing] {
        for (int fd : {0, 1, 2})
            check_call(::dup2(::open("/dev/zero", O_RDWR), fd), "dup2");
        for (int fd : {0, 1, 2}) {
            if ((missing & (1 << fd)) != 0)
                ::close(fd);
        }
    };
    std::string expected;
    for (int fd : {0, 1, 2})
        expected += std::to_string(fd) + ((missing & (1 << fd)) != 0 ? "=/dev/null " : "=/dev/zero ");
    BOOST_TEST(after(close_some, descriptors) == expected);
}

BOOST_FIXTURE_TEST_CASE(signals_are_unblocked_and_do_what_they_do_by_default, Process)
{
    const auto block_and_ignore = [] {
        sigset_t all;
        ::sigfillset(&all);
        ::sigprocmask(SIG_SETMASK, &all, nullptr);
        for (int number = 1; number <= SIGRTMAX; ++number)
            ::signal(number, SIG_IGN);
    };
    const auto seen = after(block_and_ignore, [] { return status("SigBlk") + " " + status("SigIgn"); });
    BOOST_TEST(seen == "0000000000000000 0000000001001000"); // SIGPIPE is number 13, SIGXFSZ 25
}

BOOST_FIXTURE_TEST_CASE(the_environment_is_empty, Process)
{
    const auto set = [] {
        ::setenv("SECRET", "of the engine", 1);
        ::setenv("OCI_GPU_HOOKS_MOUNT_SRV", "all", 1);
    };
    BOOST_TEST(after(set, [] { return std::to_string(environ == nullptr || *environ == nullptr); }) == "1");
}

BOOST_DATA_TEST_CASE_F(Process, what_the_dynamic_loader_reads_is_refused,
                       data::make({"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT"}), name)
{
    const Outcome outcome = in_child([&] {
        ::setenv(name, "/nowhere", 1);
        set_up_process();
        return std::string("went on");
    });
    if (OGH_STATIC != 0)
        BOOST_TEST(outcome.text == "went on");
    else
        BOOST_TEST((outcome.code == 1 && outcome.text.find(name) != std::string::npos), outcome);
}

BOOST_FIXTURE_TEST_CASE(the_working_directory_is_the_root, Process)
{
    directory("gone");
    const auto leave = [&] {
        check_call(::chdir(path("gone").c_str()), "chdir");
        check_call(::rmdir(path("gone").c_str()), "rmdir");
    };
    BOOST_TEST(after(leave, [] { return fs::current_path().string(); }) == "/");
}

BOOST_FIXTURE_TEST_CASE(the_umask_is_022, Process)
{
    BOOST_TEST(after([] { ::umask(0); }, [] { return status("Umask"); }) == "0022");
}

BOOST_FIXTURE_TEST_CASE(it_cannot_be_traced_or_gain_privileges, Process)
{
    const auto seen = after(nothing, [] {
        return std::to_string(::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)) + " " + status("NoNewPrivs");
    });
    BOOST_TEST(seen == "0 1");
}

BOOST_FIXTURE_TEST_CASE(only_the_capabilities_that_are_kept_are_left, Process)
{
    const auto seen = after(nothing, [] {
        limit_capabilities({CAP_SYS_ADMIN, CAP_SYS_CHROOT, CAP_SYS_PTRACE, CAP_DAC_OVERRIDE});
        drop_capabilities({CAP_SYS_CHROOT, CAP_SYS_PTRACE});
        std::string all;
        for (const char *set : {"CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"})
            all += status(set) + " ";
        return all;
    });
    const std::string kept = mask({CAP_SYS_ADMIN, CAP_DAC_OVERRIDE});
    const std::string none = mask({});
    BOOST_TEST(seen == kept + " " + kept + " " + none + " " + none + " " + none + " ");
}

BOOST_FIXTURE_TEST_CASE(inheritable_and_ambient_capabilities_go, Process)
{
    const auto raise = [] {
        // Ambient ones need inheritable ones first; capset(2) has no wrapper in libc.
        __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
        std::array<__user_cap_data_struct, 2> sets{};
        check_call(::syscall(SYS_capget, &header, sets.data()), "capget");
        sets[0].inheritable = sets[0].permitted;
        check_call(::syscall(SYS_capset, &header, sets.data()), "capset");
        check_call(::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0), "ambient");
    };
    const auto seen = after(raise, [] {
        limit_capabilities({CAP_SYS_ADMIN});
        return status("CapInh") + " " + status("CapAmb");
    });
    BOOST_TEST(seen == mask({}) + " " + mask({}));
}

BOOST_FIXTURE_TEST_CASE(a_capability_that_is_not_there_is_not_gained, Process)
{
    const auto seen = after(nothing, [] {
        limit_capabilities({CAP_DAC_OVERRIDE});
        limit_capabilities({CAP_DAC_OVERRIDE, CAP_SYS_ADMIN});
        return status("CapEff");
    });
    BOOST_TEST(seen == mask({CAP_DAC_OVERRIDE}));
}

BOOST_FIXTURE_TEST_CASE(what_acting_as_a_user_takes_stays_away_until_its_end, Process)
{
    const auto seen = after(nothing, [] {
        limit_capabilities({CAP_SETUID, CAP_CHOWN, CAP_DAC_OVERRIDE});
        ::setfsuid(1000);
        set_effective(CAP_DAC_OVERRIDE, true);
        const std::string as_user = status("CapEff");
        set_effective(CAP_DAC_OVERRIDE, false);
        ::setfsuid(0);
        return as_user + " " + status("CapEff");
    });
    BOOST_TEST(seen ==
               mask({CAP_SETUID, CAP_DAC_OVERRIDE}) + " " + mask({CAP_SETUID, CAP_CHOWN, CAP_DAC_OVERRIDE}));
}

BOOST_AUTO_TEST_SUITE_END()
