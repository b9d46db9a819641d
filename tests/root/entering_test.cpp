// SPDX-License-Identifier: Apache-2.0
//
// Which process may be entered.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "image/init_process.h"
#include "sandbox.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(entering)

using namespace ogh;
using namespace ogh::test;
namespace data = boost::unit_test::data;

namespace {

struct Host : Sandbox {
    Host() { directory("rootfs/srv/x"); }

    [[nodiscard]] Outcome commit_to(pid_t pid) const
    {
        return in_child(committing(data_at({"/srv/x"}), pid));
    }
};

constexpr const char *ended = "the container's init process has ended";
constexpr const char *pivoted = "so it has pivoted already; this hook belongs at the stage createRuntime";

} // namespace

BOOST_DATA_TEST_CASE_F(Host, pids_below_2_are_refused, data::make({-4711, -1, 0, 1}), pid)
{
    start();
    BOOST_TEST(refused(commit_to(pid), "names no init process to enter (pid " + std::to_string(pid) + ")"));
    BOOST_TEST(places() == Lines(), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_process_in_the_hosts_own_mount_namespace_is_refused, Host)
{
    start();
    const Child other([] { ::pause(); });
    BOOST_TEST(refused(commit_to(other.pid()), "is in the host's mount namespace; nothing is mounted there"));
    BOOST_TEST(refused(commit_to(::getpid()), "is in the host's mount namespace"));
}

BOOST_FIXTURE_TEST_CASE(a_process_that_is_gone_is_refused, Host)
{
    start();
    Child other([] {});
    const pid_t pid = other.pid();
    other.wait();
    BOOST_TEST(refused(commit_to(pid), ended));
    BOOST_TEST(refused(commit_to(0x3fffff), ended)); // above every pid_max
}

BOOST_FIXTURE_TEST_CASE(a_zombie_is_refused, Host)
{
    start();
    const Child other([] { check_call(::unshare(CLONE_NEWNS), "unshare"); });
    siginfo_t info{};
    check_call(::waitid(P_PID, static_cast<id_t>(other.pid()), &info, WEXITED | WNOWAIT), "waitid");
    BOOST_TEST(refused(commit_to(other.pid()), ended));
}

BOOST_FIXTURE_TEST_CASE(what_was_seen_of_a_process_that_has_ended_since_does_not_count, Host)
{
    start();
    const InitProcess init(container().pid());
    const auto look = [&] { container().end(); }; // from now on the number may be another process's
    BOOST_TEST(failure_of([&] { init.look_at(look); }).says(ended));
}

BOOST_FIXTURE_TEST_CASE(a_container_that_has_pivoted_is_refused_although_the_path_exists_inside, Host)
{
    directory("rootfs" + rootfs("srv/x"));
    start({.pivots = true});
    BOOST_TEST(refused(commit(data_at({"/srv/x"})), pivoted));
    BOOST_TEST(container().added().empty());
}

BOOST_FIXTURE_TEST_CASE(a_container_that_has_pivoted_is_refused, Host)
{
    start({.pivots = true});
    BOOST_TEST(refused(commit(data_at({"/srv/x"})), pivoted));
}

BOOST_FIXTURE_TEST_CASE(a_link_at_the_path_of_the_rootfs_inside_does_not_help, Host)
{
    directory("rootfs" + path());
    link("rootfs" + rootfs(), "/");
    start({.pivots = true});
    // Seen from inside this leads to the very directory; then it is the container's root, and nothing else is touched.
    const Outcome outcome = commit(data_at({"/srv/x"}));
    BOOST_TEST((outcome.code == 0 || refused(outcome, pivoted)), outcome);
}

BOOST_FIXTURE_TEST_CASE(a_rootfs_that_does_not_exist_is_refused, Host)
{
    start();
    const Edits edits = data_at({"/srv/x"});
    check_call(::rename(rootfs().c_str(), path("moved").c_str()), "rename");
    BOOST_TEST(refused(commit(edits), "cannot look at the container's root"));
    check_call(::rename(path("moved").c_str(), rootfs().c_str()), "rename");
}

BOOST_AUTO_TEST_SUITE_END()
