// SPDX-License-Identifier: Apache-2.0
//
// A host that refuses what is needed: then nothing is done, and the message says what is missing.
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/capability.h>

#include <array>
#include <cerrno>
#include <ostream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "sandbox.h"
#include "seccomp.h"

BOOST_AUTO_TEST_SUITE(refusals)

using namespace ogh;
using namespace ogh::test;
namespace data = boost::unit_test::data;

namespace {

struct Host : Sandbox {
    void expect_refused(const Conditions &conditions, const std::string &words)
    {
        start();
        const Lines before = image();
        BOOST_TEST(refused(commit(data_at({"/srv/a", "/srv/b"}), conditions), words, ErrorKind::BrokenHost));
        BOOST_TEST(places() == Lines(), boost::test_tools::per_element());
        BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
    }
};

struct Capability {
    unsigned number;
    const char *name;

    friend std::ostream &operator<<(std::ostream &out, const Capability &capability)
    {
        return out << capability.name;
    }
};

const auto needed = std::to_array<Capability>({
    {CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
    {CAP_SYS_CHROOT, "CAP_SYS_CHROOT"},
    {CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
});

struct Call {
    long number;
    const char *name;

    friend std::ostream &operator<<(std::ostream &out, const Call &call) { return out << call.name; }
};

const auto calls = std::to_array<Call>({
    {SYS_openat2, "openat2"},
    {SYS_open_tree, "open_tree"},
    {SYS_mount_setattr, "mount_setattr"},
    {SYS_pidfd_open, "pidfd_open"},
});

} // namespace

BOOST_DATA_TEST_CASE_F(Host, a_missing_capability_is_named, data::make(needed), capability)
{
    Conditions conditions;
    std::erase(conditions.capabilities, capability.number);
    expect_refused(conditions, "entering the container needs " + std::string(capability.name) +
                                   ", which this process lacks");
}

BOOST_FIXTURE_TEST_CASE(all_missing_capabilities_are_named_at_once, Host)
{
    expect_refused({.capabilities = {CAP_DAC_OVERRIDE}}, "CAP_SYS_ADMIN, CAP_SYS_CHROOT, CAP_SYS_PTRACE");
}

BOOST_DATA_TEST_CASE_F(Host, without_a_system_call_it_fails_closed,
                       data::make(calls) * data::make({ENOSYS, EPERM}), call, error)
{
    expect_refused({.first = [&] { refuse_call(call.number, error); }}, call.name);
}

#ifndef __SANITIZE_ADDRESS__ // which needs descriptors itself to look at the exception
BOOST_FIXTURE_TEST_CASE(too_few_open_files_are_told, Host)
{
    start();
    const Lines before = image();
    const std::vector<std::string> names(30, "/srv/x");
    const auto limit = [] {
        const rlimit few{20, 20};
        check_call(::setrlimit(RLIMIT_NOFILE, &few), "setrlimit");
    };
    BOOST_TEST(refused(commit(data_at(names), {.first = limit}), "raise LimitNOFILE", ErrorKind::BrokenHost));
    BOOST_TEST(places() == Lines(), boost::test_tools::per_element());
    BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
}
#endif

BOOST_DATA_TEST_CASE_F(Host, a_mount_that_is_refused_leaves_no_placeholder, data::make({ENOSYS, EPERM}),
                       error)
{
    start();
    const Lines before = image();
    const Outcome outcome =
        commit(data_at({"/srv/a", "/srv/b"}), {.first = [&] { refuse_call(SYS_move_mount, error); }});
    BOOST_TEST(outcome.code != 0);
    BOOST_TEST(outcome.text.find("move_mount") != std::string::npos, outcome);
    BOOST_TEST(places() == Lines(), boost::test_tools::per_element());
    BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE_F(Host, a_namespace_that_cannot_be_entered_is_an_error, data::make({ENOSYS, EPERM}),
                       error)
{
    start();
    const Lines before = image();
    const Outcome outcome = commit(data_at({"/srv/a"}), {.first = [&] { refuse_call(SYS_setns, error); }});
    BOOST_TEST(refused(outcome, "setns"));
    BOOST_TEST(places() == Lines(), boost::test_tools::per_element());
    BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
}

/** As in a container whose root is the host's own, with a volume at /proc; by a path the undoing would go elsewhere. */
BOOST_FIXTURE_TEST_CASE(cve_2026_115521_what_is_undone_is_not_told_by_links_at_proc, Host)
{
    directory("rootfs/victim");
    file("rootfs/srv/b/in-the-way");
    directory("rootfs/planted/self/fd");
    for (int fd = 0; fd < 64; ++fd)
        link("rootfs/planted/self/fd/" + std::to_string(fd), rootfs("victim"));
    const auto mount_bound = [&](const std::string &source, const std::string &place) {
        check_call(::mount(source.c_str(), place.c_str(), nullptr, MS_BIND, nullptr), "mount");
    };
    start({.set_up = [&](const std::string &) {
        mount_bound(src("data"), rootfs("victim"));
        mount_bound(rootfs("planted"), "/proc");
    }});
    Edits edits = data_at({"/srv/a"});
    edits.mounts.push_back(list_at("/srv/b").mounts.front());
    BOOST_TEST(refused(commit(edits), "'/srv/b' in the container: it is no plain file"));
    BOOST_TEST(places() == Lines(), boost::test_tools::per_element());
    const auto look = [] { return std::string(::access("/victim/file", F_OK) == 0 ? "there" : "gone"); };
    BOOST_TEST(container().inside(look) == (Outcome{0, "there"}));
}

BOOST_AUTO_TEST_SUITE_END()
