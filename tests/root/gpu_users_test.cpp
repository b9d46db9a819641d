// SPDX-License-Identifier: Apache-2.0
//
// Who has nodes of GPUs open, of real processes; /dev/full's numbers stand for a GPU's.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>

#include <boost/test/unit_test.hpp>

#include "lease/presence/gpu_users.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(gpu_users)

using namespace ogh;
using namespace ogh::test;

namespace {

/** @param open the kernel's count: where it is met, processes that nobody may look at do not matter */
DriverNodes nodes_of(std::optional<size_t> open = 1)
{
    return {{{{1, 7}, "gpu"}}, {1}, {{1, 3}}, [open] { return open; }};
}

struct Host : TempDirectory {
    Host()
    {
        ::mknod(path("nvidia7").c_str(), S_IFCHR | 0666, makedev(1, 7));
        ::mknod(path("nvidia5").c_str(), S_IFCHR | 0666, makedev(1, 5));
        ::mknod(path("other").c_str(), S_IFCHR | 0666, makedev(1, 7));
    }

    GpuUsers find(std::chrono::nanoseconds most = std::chrono::seconds(10),
                  const std::vector<Monitor> &monitors = {}) const
    {
        const Sysroot host("/");
        return find_node_users(Processes(), nodes_of(), Monitors(host, monitors), most);
    }

    /** What there is to see while this process has that open. */
    GpuUsers with(const std::string &name, int flags) const
    {
        const UniqueFd fd(::open(path(name).c_str(), flags | O_CLOEXEC));
        BOOST_TEST_REQUIRE(fd.valid());
        return find();
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_process_is_found_by_what_it_has_open, Host)
{
    BOOST_TEST(find().users.empty());
    const GpuUsers found = with("nvidia7", O_RDWR);
    BOOST_TEST_REQUIRE(found.users.size() == 1);
    BOOST_TEST(found.users[0].process.pid == ::getpid());
    BOOST_TEST(found.users[0].program == "root_tests");
    BOOST_TEST(found.users[0].user == "0");
    BOOST_TEST((found.users[0].gpus == std::set<LeaseKey>{"gpu"}));
    BOOST_TEST(found.unknown.empty());
}

BOOST_FIXTURE_TEST_CASE(a_node_is_told_by_its_number, Host)
{
    BOOST_TEST(with("other", O_RDWR).users.size() == 1);
}

BOOST_FIXTURE_TEST_CASE(a_name_alone_and_a_path_alone_are_no_use, Host)
{
    BOOST_TEST(with("nvidia5", O_RDWR).users.empty());
    BOOST_TEST(with("nvidia7", O_PATH).users.empty());
    std::ofstream(path("nvidia70")) << "plain";
    BOOST_TEST(with("nvidia70", O_RDWR).users.empty());
}

BOOST_FIXTURE_TEST_CASE(a_node_that_was_removed_is_found_as_well, Host)
{
    const UniqueFd fd(::open(path("nvidia7").c_str(), O_RDONLY | O_CLOEXEC));
    ::unlink(path("nvidia7").c_str());
    BOOST_TEST(find().users.size() == 1);
}

BOOST_FIXTURE_TEST_CASE(it_is_not_known_where_that_takes_too_long, Host)
{
    const UniqueFd fd(::open(path("nvidia7").c_str(), O_RDONLY | O_CLOEXEC));
    const GpuUsers found = find(std::chrono::nanoseconds(0));
    BOOST_TEST(found.users.empty());
    BOOST_TEST(found.unknown == "there are too many open files to look at all of them in time");
}

BOOST_FIXTURE_TEST_CASE(a_monitor_is_told_by_its_file, Host)
{
    const UniqueFd fd(::open(path("nvidia7").c_str(), O_RDONLY | O_CLOEXEC));
    BOOST_TEST(find(std::chrono::seconds(10), {{0, "/bin/sh"}, {0, "/none"}}).users.size() == 1);
    BOOST_TEST(find(std::chrono::seconds(10), {{0, "/none"}, {0, "/proc/self/exe"}}).users.empty());
}

BOOST_FIXTURE_TEST_CASE(where_no_file_is_open_nobody_is_looked_for, Host)
{
    const UniqueFd fd(::open(path("nvidia7").c_str(), O_RDONLY | O_CLOEXEC));
    const Sysroot host("/");
    BOOST_TEST(find_node_users(Processes(), nodes_of(0), Monitors(host, {})).users.empty());
}

BOOST_FIXTURE_TEST_CASE(who_has_a_lease_or_observes_is_nobody_else, Host)
{
    const Processes processes;
    const GpuUsers found = with("nvidia7", O_RDWR);
    const std::string name =
        "is used by 'root_tests' (pid " + std::to_string(::getpid()) + ", user 0), which has no lease of it";
    LeaseState state;
    BOOST_TEST(used_by_others(processes, state, found).at("gpu") == name);
    const ProcessId self = processes.own_id();
    state.allocations = {{{self}, {{"gpu/0"}}}};
    BOOST_TEST(used_by_others(processes, state, found).empty());
    state.allocations[0].devices[0].key = "other";
    BOOST_TEST(used_by_others(processes, state, found).size() == 1);
    state.observers = {{{{self.pid + 1, 1}, false, OwnCgroup{"", "/x/y"}}, {{"gpu"}}}};
    for (const auto &[cgroups, count] : std::map<std::string, size_t>{
             {"0::/x/y\n", 0}, {"0::/x/y/z\n", 0}, {"0::/x/yz\n", 1}, {"0::/x\n", 1}, {"", 1}}) {
        GpuUsers moved = found;
        moved.users[0].cgroups = cgroups;
        BOOST_TEST(used_by_others(processes, state, moved).size() == count, cgroups);
    }
}

BOOST_FIXTURE_TEST_CASE(who_has_ended_since_uses_nothing, Host)
{
    GpuUsers found = with("nvidia7", O_RDWR);
    ++found.users[0].process.start_time;
    BOOST_TEST(used_by_others(Processes(), {}, found).empty());
}

BOOST_FIXTURE_TEST_CASE(what_is_filled_counts_where_nobody_has_a_lease, Host)
{
    const GpuUsers found{{}, {{"gpu", "is full"}}, ""};
    BOOST_TEST(used_by_others(Processes(), {}, found).at("gpu") == "is full");
    LeaseState state;
    state.allocations = {{{{1, 1}}, {{"gpu/3"}}}};
    BOOST_TEST(used_by_others(Processes(), state, found).empty());
}

BOOST_FIXTURE_TEST_CASE(a_name_is_escaped, Host)
{
    const UniqueFd fd(::open(path("nvidia7").c_str(), O_RDONLY | O_CLOEXEC));
    ::prctl(PR_SET_NAME, "a\n'\x1b[m");
    const auto used = used_by_others(Processes(), {}, find());
    ::prctl(PR_SET_NAME, "root_tests");
    const std::string &text = used.at("gpu");
    BOOST_TEST(text.find('\n') == std::string::npos);
    BOOST_TEST(text.find('\x1b') == std::string::npos);
    BOOST_TEST(text.find("a\\") != std::string::npos, text);
}

BOOST_AUTO_TEST_SUITE_END()
