// SPDX-License-Identifier: Apache-2.0
//
// Device programs of real cgroups: this kernel reads them back, takes them rewritten, and runs them.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "cgroup/bpf.h"
#include "support/device_programs.h"
#include "support/expect.h"
#include "version2.h"

BOOST_AUTO_TEST_SUITE(device_cgroup_v2)

using namespace ogh;
using namespace ogh::test;
namespace data = boost::unit_test::data;

BOOST_DATA_TEST_CASE_F(Version2, each_program_allows_the_rules_and_answers_as_before, data::make(ways), way)
{
    start_in(own);
    for (const NamedProgram &one : usual_programs()) {
        const std::string name = make(Version::Two, "of-" + one.name);
        const UniqueFd directory = open(Version::Two, name);
        const UniqueFd link = way.by_link ? attach_by_link(directory.get(), one.program) : UniqueFd();
        if (!way.by_link)
            attach(directory.get(), one.program, way.flags);
        start_in(name);
        BOOST_TEST(CgroupHost::answers(Version::Two, name) == expected({one.program}), one.name);
        DeviceCgroups container = this->container(name);
        UndoLog undo;
        BOOST_TEST(loud(container.allow(rules, undo)) == 0U);
        undo.drop();
        BOOST_TEST(CgroupHost::answers(Version::Two, name) == expected({one.program}, rules), one.name);
        BOOST_TEST(bpf::attached_programs(directory.get()).flags ==
                   (way.by_link ? BPF_F_ALLOW_MULTI : way.flags));
        BOOST_TEST(bpf::attached_programs(directory.get()).ids.size() == 1U);
    }
}

BOOST_FIXTURE_TEST_CASE(instructions_come_back_as_they_were_loaded, Version2)
{
    for (const NamedProgram &one : usual_programs()) {
        const UniqueFd loaded = bpf::load_program(one.program, "n_" + one.name);
        const bpf::ProgramInfo info = bpf::read_program(loaded.get());
        BOOST_TEST(info.name == "n_" + one.name);
        BOOST_TEST(info.instructions.size() == one.program.size(), one.name);
    }
}

BOOST_FIXTURE_TEST_CASE(all_of_several_programs_are_replaced, Version2)
{
    const DeviceProgram first = like_runc(usual_lines());
    const DeviceProgram second = like_crun({{'a', any, any, 7, false}, {'c', 1, any, 7, true}});
    const UniqueFd none = put(first);
    const UniqueFd link = put(second, ways[3]);
    const UniqueFd nothing = put(always(1));
    start_in(own);
    BOOST_TEST(answers() == expected({first, second}));
    allow_and_keep(rules);
    BOOST_TEST(answers() == expected({first, second}, rules));
    BOOST_TEST(bpf::attached_programs(cgroup.get()).ids.size() == 3U);
}

BOOST_FIXTURE_TEST_CASE(each_of_two_links_gets_its_own_program, Version2)
{
    const DeviceProgram first = like_runc(usual_lines());
    const DeviceProgram second = like_crun({{'a', any, any, 7, false}, {'c', 1, any, 7, true}});
    const UniqueFd link = put(first, ways[3]);
    const UniqueFd other = put(second, ways[3]);
    start_in(own);
    allow_and_keep(rules);
    BOOST_TEST(answers() == expected({first, second}, rules));
}

BOOST_FIXTURE_TEST_CASE(a_program_with_links_to_two_cgroups_is_replaced_in_the_containers, Version2)
{
    const UniqueFd elsewhere = open(Version::Two, make(Version::Two, "other"));
    const DeviceProgram old = like_runc(usual_lines());
    const UniqueFd loaded = bpf::load_program(old, "both");
    const UniqueFd first = link_to(elsewhere.get(), loaded.get());
    const UniqueFd second = link_to(cgroup.get(), loaded.get());
    start_in(own);
    const std::string before = attached(elsewhere.get());
    allow_and_keep(rules);
    BOOST_TEST(answers() == expected({old}, rules));
    BOOST_TEST(attached(elsewhere.get()) == before);
}

BOOST_DATA_TEST_CASE_F(Version2, a_second_run_changes_nothing, data::make(ways), way)
{
    const UniqueFd link = put(like_runc(usual_lines()), way);
    start_in(own);
    allow_and_keep(rules);
    const std::string once = attached(cgroup.get());
    allow_and_keep(rules);
    BOOST_TEST(attached(cgroup.get()) == once);
}

BOOST_FIXTURE_TEST_CASE(a_further_request_adds_to_the_first, Version2)
{
    const DeviceProgram old = like_runc(usual_lines());
    const UniqueFd none = put(old);
    start_in(own);
    allow_and_keep({node(0)});
    allow_and_keep({node(0), node(1)});
    BOOST_TEST(answers() == expected({old}, {node(0), node(1)}));
}

BOOST_FIXTURE_TEST_CASE(block_devices_and_single_accesses_are_rules_too, Version2)
{
    const DeviceProgram old = like_runc({{'a', any, any, 7, false}});
    const UniqueFd none = put(old);
    start_in(own);
    const DeviceRules some = {
        {DeviceRule::Type::Block, major(), 1, access_read}, node(1, access_write), node(256, access_mknod)};
    allow_and_keep(some);
    BOOST_TEST(answers() == expected({old}, some));
}

BOOST_DATA_TEST_CASE_F(Version2, what_was_not_kept_is_taken_back, data::make(ways), way)
{
    const DeviceProgram old = like_runc(usual_lines());
    const UniqueFd link = put(old, way);
    start_in(own);
    const std::string before = attached(cgroup.get());
    {
        DeviceCgroups container = this->container(own);
        UndoLog undo;
        container.allow(rules, undo);
        BOOST_TEST(attached(cgroup.get()) != before);
        BOOST_TEST(answers() == expected({old}, rules));
    }
    BOOST_TEST(attached(cgroup.get()) == before);
    BOOST_TEST(bpf::attached_programs(cgroup.get()).flags == (way.by_link ? BPF_F_ALLOW_MULTI : way.flags));
    BOOST_TEST(answers() == expected({old}));
}

BOOST_FIXTURE_TEST_CASE(from_the_named_cgroup_down_to_inits_all_are_changed, Version2)
{
    const DeviceProgram scope = like_runc(usual_lines());
    const DeviceProgram below = like_crun(usual_lines());
    const std::string inner = make(Version::Two, "c1/container");
    const UniqueFd none = put(scope);
    attach(open(Version::Two, inner).get(), below, BPF_F_ALLOW_MULTI);
    start_in(inner);
    allow_and_keep(rules);
    BOOST_TEST(CgroupHost::answers(Version::Two, inner) == expected({scope, below}, rules));
    BOOST_TEST(answers() == expected({scope}, rules));
}

BOOST_FIXTURE_TEST_CASE(systemds_name_of_a_scope_is_understood, Version2)
{
    const DeviceProgram old = like_runc(usual_lines());
    const std::string scope = make(Version::Two, "libpod-4f.scope");
    const std::string inner = make(Version::Two, "libpod-4f.scope/container");
    attach(open(Version::Two, scope).get(), old, BPF_F_ALLOW_MULTI);
    start_in(inner);
    DeviceCgroups container = this->container("machine.slice:libpod:4f");
    UndoLog undo;
    container.allow(rules, undo);
    BOOST_TEST(CgroupHost::answers(Version::Two, inner) == expected({old}, rules));
}

BOOST_FIXTURE_TEST_CASE(a_program_with_a_map_is_an_error_and_the_others_stay_as_they_are, Version2)
{
    const UniqueFd map = make_map();
    const UniqueFd first = put(like_runc(usual_lines()));
    const UniqueFd second = put(with_map(map.get()));
    start_in(own);
    const std::string before = attached(cgroup.get());
    const Failure failure = failure_of([&] { allow_and_keep(rules); });
    BOOST_TEST((failure.kind == ErrorKind::BrokenHost));
    BOOST_TEST(failure.says("it uses a map"), failure.message);
    BOOST_TEST(attached(cgroup.get()) == before);
}

BOOST_FIXTURE_TEST_CASE(many_rules_are_one_program, Version2)
{
    const DeviceProgram old = like_runc(usual_lines());
    const UniqueFd none = put(old);
    start_in(own);
    DeviceRules many;
    for (unsigned minor = 0; minor < 512; ++minor)
        many.push_back({minor % 2 == 0 ? DeviceRule::Type::Char : DeviceRule::Type::Block,
                        major() - minor % 5, minor, access_read | access_write});
    allow_and_keep(many);
    BOOST_TEST(answers() == expected({old}, many));
}

BOOST_DATA_TEST_CASE_F(Version2, what_is_denied_again_is_as_before_and_can_be_put_back, data::make(ways), way)
{
    const DeviceProgram old = like_runc(usual_lines());
    const UniqueFd link = put(old, way);
    start_in(own);
    DeviceCgroups container = this->container(own);
    UndoLog undo;
    container.allow(rules, undo);
    undo.drop();
    container.deny({rules[0]});
    BOOST_TEST(answers() == expected({old}, {rules[1]}));
    BOOST_TEST(bpf::attached_programs(cgroup.get()).ids.size() == 1U);
    container.allow(rules, undo);
    undo.drop();
    BOOST_TEST(answers() == expected({old}, rules));
}

BOOST_FIXTURE_TEST_CASE(of_one_that_has_no_program_nothing_can_be_denied, Version2)
{
    start_in(own);
    DeviceCgroups container = this->container(own);
    BOOST_TEST(failure_of([&] { container.deny(rules); }).says("has no program"));
}

BOOST_AUTO_TEST_SUITE_END()
