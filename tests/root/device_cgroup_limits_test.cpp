// SPDX-License-Identifier: Apache-2.0
//
// Which device programs are changed and which are not: those above the container, the runtime's, those that allow
// everything already, and any where this process may not.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <linux/capability.h>

#include <cerrno>

#include <boost/test/unit_test.hpp>

#include "cgroup/bpf.h"
#include "kernel/process.h"
#include "seccomp.h"
#include "support/device_programs.h"
#include "support/expect.h"
#include "version2.h"

BOOST_AUTO_TEST_SUITE(device_cgroup_limits)

using namespace ogh;
using namespace ogh::test;

BOOST_FIXTURE_TEST_CASE(an_ancestor_that_denies_is_an_error_and_stays_as_it_is, Version2)
{
    const std::string inner = make(Version::Two, "c1/pod");
    const UniqueFd directory = open(Version::Two, inner);
    const UniqueFd none = put(like_runc(usual_lines()));
    attach(directory.get(), like_crun(usual_lines()), BPF_F_ALLOW_MULTI);
    start_in(inner);
    const std::string before = attached(cgroup.get()) + attached(directory.get());
    DeviceCgroups container = this->container(inner);
    UndoLog undo;
    const Failure failure = failure_of([&] { container.allow(rules, undo); });
    BOOST_TEST((failure.kind == ErrorKind::BrokenHost));
    BOOST_TEST(failure.says("'" + own + "' (version 2) denies " + to_text(node(0))), failure.message);
    undo.drop();
    BOOST_TEST(attached(cgroup.get()) + attached(directory.get()) == before);
}

BOOST_FIXTURE_TEST_CASE(a_program_that_is_attached_above_too_is_an_ancestors_as_well, Version2)
{
    const std::string inner = make(Version::Two, "c1/pod");
    const UniqueFd directory = open(Version::Two, inner);
    const UniqueFd program = bpf::load_program(always(0), "both");
    bpf::attach_program(cgroup.get(), program.get(), BPF_F_ALLOW_MULTI);
    bpf::attach_program(directory.get(), program.get(), BPF_F_ALLOW_MULTI);
    start_in(inner);
    BOOST_TEST(failure_of([&] { try_to_allow(inner, rules); }).says("denies"));
}

BOOST_FIXTURE_TEST_CASE(an_ancestor_that_allows_is_left_alone, Version2)
{
    const std::string inner = make(Version::Two, "c1/pod");
    const DeviceProgram old = like_crun(usual_lines());
    const UniqueFd none = put(like_runc({{'a', any, any, 7, true}}));
    attach(open(Version::Two, inner).get(), old, BPF_F_ALLOW_MULTI);
    start_in(inner);
    const std::string before = attached(cgroup.get());
    DeviceCgroups container = this->container(inner);
    UndoLog undo;
    BOOST_TEST(loud(container.allow(rules, undo)) == 0U);
    BOOST_TEST(attached(cgroup.get()) == before);
    BOOST_TEST(CgroupHost::answers(Version::Two, inner) == expected({old}, rules));
}

BOOST_FIXTURE_TEST_CASE(an_ancestor_that_cannot_be_judged_is_a_warning, Version2)
{
    const UniqueFd map = make_map();
    const std::string inner = make(Version::Two, "c1/pod");
    const UniqueFd none = put(with_map(map.get()));
    start_in(inner);
    const Notes notes = try_to_allow(inner, {node(0)});
    BOOST_REQUIRE(loud(notes) == 1U);
    BOOST_TEST((notes[0].level == LogLevel::Warning));
    BOOST_TEST(notes[0].text.find("'" + own + "'") != std::string::npos, notes[0].text);
}

BOOST_FIXTURE_TEST_CASE(without_a_program_none_is_attached, Version2)
{
    start_in(own);
    BOOST_TEST(loud(allow_and_keep(rules)) == 0U);
    BOOST_TEST(attached(cgroup.get()).empty());
}

BOOST_FIXTURE_TEST_CASE(what_is_allowed_already_stays_as_it_is, Version2)
{
    const std::string privileged = make(Version::Two, "c2");
    const UniqueFd directory = open(Version::Two, privileged);
    attach(directory.get(), like_runc({{'a', any, any, 7, true}}), BPF_F_ALLOW_MULTI);
    start_in(privileged);
    const std::string before = attached(directory.get());
    try_to_allow(privileged, rules);
    BOOST_TEST(attached(directory.get()) == before);
}

BOOST_FIXTURE_TEST_CASE(the_runtimes_own_cgroup_is_never_changed, Version2)
{
    const UniqueFd none = put(like_runc(usual_lines()));
    const std::string before = attached(cgroup.get());
    const pid_t init = start(Version::Two, own);
    const Outcome outcome = in_child([&] {
        const UniqueFd procs(::openat(cgroup.get(), "cgroup.procs", O_WRONLY | O_CLOEXEC));
        check_call(::write(procs.get(), "0", 1), "join");
        DeviceCgroups container = device_cgroups_of(init, own);
        UndoLog undo;
        const Notes notes = container.allow(rules, undo);
        undo.drop();
        return std::to_string(notes.size()) + notes.at(0).text;
    });
    BOOST_TEST(outcome == (Outcome{0, "1the container has no device cgroup of its own; none is changed"}));
    BOOST_TEST(attached(cgroup.get()) == before);
}

BOOST_FIXTURE_TEST_CASE(where_it_may_not_be_changed_there_is_one_note, Version2)
{
    const UniqueFd none = put(like_runc(usual_lines()));
    start_in(own);
    const std::string before = attached(cgroup.get());
    for (const std::vector<unsigned> &kept :
         {std::vector<unsigned>{CAP_DAC_OVERRIDE}, {CAP_DAC_OVERRIDE, CAP_NET_ADMIN}}) {
        const Outcome outcome = in_child([&] {
            limit_capabilities(kept);
            DeviceCgroups container = this->container(own);
            UndoLog undo;
            const Notes notes = container.allow(rules, undo);
            undo.drop();
            return std::to_string(notes.size()) + " " + notes.at(0).text;
        });
        BOOST_TEST(outcome.code == 0);
        BOOST_TEST(
            outcome.text.starts_with("1 the device cgroup '" + own + "' (version 2) is not for this process"),
            outcome.text);
    }
    BOOST_TEST(attached(cgroup.get()) == before);
}

BOOST_FIXTURE_TEST_CASE(where_the_second_program_may_not_be_changed_the_first_is_put_back, Version2)
{
    const UniqueFd none = put(like_runc(usual_lines()));
    const UniqueFd link = put(like_crun(usual_lines()), ways[3]);
    start_in(own);
    const std::string before = attached(cgroup.get());
    const Outcome outcome = in_child([&] {
        refuse_call_with(SYS_bpf, EPERM, 0, BPF_LINK_UPDATE);
        return std::to_string(loud(allow_and_keep(rules)));
    });
    BOOST_TEST(outcome == (Outcome{0, "1"}));
    BOOST_TEST(attached(cgroup.get()) == before);
}

BOOST_FIXTURE_TEST_CASE(the_capabilities_that_are_named_are_enough, Version2)
{
    const DeviceProgram old = like_runc(usual_lines());
    const UniqueFd link = put(old, ways[3]);
    const UniqueFd none = put(old);
    start_in(own);
    const Outcome outcome = in_child([&] {
        limit_capabilities({device_cgroup_capabilities.begin(), device_cgroup_capabilities.end()});
        allow_and_keep(rules);
        return std::string();
    });
    BOOST_TEST(outcome == Outcome{});
    BOOST_TEST(answers() == expected({old}, rules));
}

BOOST_AUTO_TEST_SUITE_END()
