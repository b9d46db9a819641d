// SPDX-License-Identifier: Apache-2.0
//
// Device lists of real cgroups of version 1.
#include <sys/stat.h>
#include <linux/capability.h>

#include <boost/test/unit_test.hpp>

#include "cgroup_host.h"
#include "kernel/process.h"
#include "support/device_programs.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(device_cgroup_v1)

using namespace ogh;
using namespace ogh::test;

namespace {

/** What the list of usual_lines() is in version 1. */
const std::vector<std::string> usual_list = {"c *:* m", "b *:* m", "c 1:3 rwm", "c 5:0 r", "c 136:* rwm"};

struct Version1 : CgroupHost {
    const std::string own = make_denied("c1");
    const DeviceRules rules = {node(0), node(256)};
    const DeviceProgram same = like_runc(usual_lines()); ///< answers as the list does

    std::string make_denied(const std::string &name)
    {
        const std::string made = make(Version::One, name);
        write(made, "devices.deny", "a");
        for (const std::string &line : usual_list) {
            if (name.find('/') == std::string::npos)
                write(made, "devices.allow", line);
        }
        return made;
    }

    [[nodiscard]] std::string list(const std::string &path) const { return read(path, "devices.list"); }
    [[nodiscard]] std::string answers() const { return CgroupHost::answers(Version::One, own); }

    void allow_and_keep(const DeviceRules &wanted) const
    {
        DeviceCgroups container = this->container(own);
        UndoLog undo;
        container.allow(wanted, undo);
        undo.drop();
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(the_rules_are_allowed_and_all_else_is_as_it_was, Version1)
{
    start(Version::One, own);
    BOOST_TEST(answers() == expected({same}));
    allow_and_keep(rules);
    BOOST_TEST(answers() == expected({same}, rules));
    const std::string once = list(own);
    allow_and_keep(rules);
    BOOST_TEST(list(own) == once);
}

BOOST_FIXTURE_TEST_CASE(block_devices_and_single_accesses_are_rules_too, Version1)
{
    start(Version::One, own);
    const DeviceRules some = {{DeviceRule::Type::Block, major(), 1, access_read}, node(1, access_write)};
    allow_and_keep(some);
    BOOST_TEST(answers() == expected({same}, some));
}

BOOST_FIXTURE_TEST_CASE(from_the_named_cgroup_down_to_inits_all_are_changed, Version1)
{
    const std::string inner = make_denied("c1/container");
    start(Version::One, inner);
    allow_and_keep(rules);
    BOOST_TEST(CgroupHost::answers(Version::One, inner) == expected({always(0)}, rules));
    BOOST_TEST(answers() == expected({same}, rules));
}

BOOST_FIXTURE_TEST_CASE(what_was_not_kept_is_taken_back_and_no_more, Version1)
{
    const std::string inner = make_denied("c1/container");
    const std::string partly = "c " + std::to_string(major()) + ":0 r";
    write(own, "devices.allow", partly);
    write(own, "devices.allow", "c " + std::to_string(major()) + ":* w");
    start(Version::One, inner);
    const std::string before = list(own) + list(inner);
    {
        DeviceCgroups container = this->container(own);
        UndoLog undo;
        container.allow(rules, undo);
        BOOST_TEST(list(own) + list(inner) != before);
        BOOST_TEST(CgroupHost::answers(Version::One, inner) == expected({always(0)}, rules));
    }
    BOOST_TEST(list(own) + list(inner) == before);
}

BOOST_FIXTURE_TEST_CASE(an_ancestor_that_denies_is_an_error_and_stays_as_it_is, Version1)
{
    const std::string inner = make_denied("c1/pod");
    start(Version::One, inner);
    write(own, "devices.allow", to_text(node(0)));
    const std::string before = list(own) + list(inner);
    DeviceCgroups container = this->container(inner);
    UndoLog undo;
    const Failure failure = failure_of([&] { container.allow(rules, undo); });
    BOOST_TEST((failure.kind == ErrorKind::BrokenHost));
    BOOST_TEST(
        failure.says("above the device cgroup '" + inner + "' (version 1) denies " + to_text(node(256))),
        failure.message);
    undo.drop();
    BOOST_TEST(list(own) + list(inner) == before);
}

BOOST_FIXTURE_TEST_CASE(a_container_that_may_use_everything_still_may, Version1)
{
    const std::string privileged = make(Version::One, "c2");
    write(privileged, "devices.allow", "a");
    start(Version::One, privileged);
    try_to_allow(privileged, rules);
    BOOST_TEST(CgroupHost::answers(Version::One, privileged) == expected({always(1)}));
}

BOOST_FIXTURE_TEST_CASE(a_device_that_alone_is_denied_is_allowed, Version1)
{
    const std::string open_one = make(Version::One, "c2");
    write(open_one, "devices.allow", "a");
    write(open_one, "devices.deny", to_text(node(0)));
    start(Version::One, open_one);
    DeviceCgroups container = this->container(open_one);
    UndoLog undo;
    container.allow(rules, undo);
    undo.drop();
    BOOST_TEST(CgroupHost::answers(Version::One, open_one) == expected({always(1)}));
}

BOOST_FIXTURE_TEST_CASE(where_it_may_not_be_changed_there_is_one_note, Version1)
{
    start(Version::One, own);
    const std::string before = list(own);
    const Outcome outcome = in_child([&] {
        limit_capabilities({CAP_DAC_OVERRIDE});
        DeviceCgroups container = this->container(own);
        UndoLog undo;
        const Notes notes = container.allow(rules, undo);
        undo.drop();
        return std::to_string(notes.size()) + " " + notes.at(0).text;
    });
    BOOST_TEST(outcome.code == 0);
    BOOST_TEST(
        outcome.text.starts_with("1 the device cgroup '" + own + "' (version 1) is not for this process"),
        outcome.text);
    BOOST_TEST(list(own) == before);
}

BOOST_FIXTURE_TEST_CASE(where_the_inner_one_may_not_be_changed_the_outer_is_left_as_it_is, Version1)
{
    const std::string inner = make_denied("c1/container");
    start(Version::One, inner);
    check_call(::fchmodat(open(Version::One, inner).get(), "devices.allow", 0, 0), "chmod");
    const std::string before = list(own) + list(inner);
    const Outcome outcome = in_child([&] {
        limit_capabilities({CAP_SYS_ADMIN});
        allow_and_keep(rules);
        return std::string();
    });
    BOOST_TEST(outcome == Outcome{});
    BOOST_TEST(list(own) + list(inner) == before);
}

BOOST_FIXTURE_TEST_CASE(the_capabilities_that_are_named_are_enough, Version1)
{
    start(Version::One, own);
    const Outcome outcome = in_child([&] {
        limit_capabilities({device_cgroup_capabilities.begin(), device_cgroup_capabilities.end()});
        allow_and_keep(rules);
        return std::string();
    });
    BOOST_TEST(outcome == Outcome{});
    BOOST_TEST(answers() == expected({same}, rules));
}

BOOST_FIXTURE_TEST_CASE(what_is_denied_again_is_as_before_and_can_be_put_back, Version1)
{
    const std::string inner = make_denied("c1/container");
    start(Version::One, inner);
    DeviceCgroups container = this->container(own);
    UndoLog undo;
    container.allow(rules, undo);
    undo.drop();
    container.deny({rules[0]});
    BOOST_TEST(CgroupHost::answers(Version::One, inner) == expected({always(0)}, {rules[1]}));
    BOOST_TEST(answers() == expected({same}, {rules[1]}));
    container.allow(rules, undo);
    undo.drop();
    BOOST_TEST(CgroupHost::answers(Version::One, inner) == expected({always(0)}, rules));
}

BOOST_FIXTURE_TEST_CASE(of_one_that_has_every_device_single_ones_can_be_denied, Version1)
{
    const std::string open_one = make(Version::One, "open");
    start(Version::One, open_one);
    const std::string before = CgroupHost::answers(Version::One, open_one);
    DeviceCgroups container = this->container(open_one);
    container.deny({rules[0]});
    const std::string after = CgroupHost::answers(Version::One, open_one);
    BOOST_TEST(after.find(to_text(rules[0]) + "\n") == std::string::npos);
    BOOST_TEST(after.find(to_text(rules[1]) + "\n") != std::string::npos);
    UndoLog undo;
    container.allow(rules, undo);
    undo.drop();
    BOOST_TEST(CgroupHost::answers(Version::One, open_one) == before);
}

BOOST_FIXTURE_TEST_CASE(what_another_rule_allows_cannot_be_denied, Version1)
{
    write(own, "devices.allow", "c " + std::to_string(major()) + ":* r");
    start(Version::One, own);
    DeviceCgroups container = this->container(own);
    const Failure failure = failure_of([&] { container.deny(rules); });
    BOOST_TEST((failure.kind == ErrorKind::BrokenHost));
    BOOST_TEST(failure.says("another rule of "), failure.message);
}

BOOST_FIXTURE_TEST_CASE(what_another_rule_allows_to_make_alone_can_be_denied, Version1)
{
    start(Version::One, own);
    DeviceRules with_making = rules;
    for (DeviceRule &rule : with_making)
        rule.access |= access_mknod;
    allow_and_keep(with_making);
    container(own).deny(with_making);
    BOOST_TEST(answers() == expected({same}));
}

BOOST_AUTO_TEST_SUITE_END()
