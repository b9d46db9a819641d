// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "mount-srv/plan.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(mount_srv_plan)

using namespace ogh;
using namespace ogh::mount_srv;
using ogh::test::failure_of;

namespace {

const Inventory host{
    "/srv",
    true,
    {{"bad", "/srv/bad", Kind::Directory, "its symlink leads nowhere", ErrorKind::NotAvailable},
     {"datasets", "/srv/datasets", Kind::Directory, "", ErrorKind::None},
     {"file", "/srv/file", Kind::File, "", ErrorKind::None},
     {"models", "/data/models", Kind::Directory, "", ErrorKind::None},
     {"out_rw", "/srv/out_rw", Kind::Directory, "", ErrorKind::None}}};

const DirectoryRequest everything{true, {}, {}, false};

Policy into(const std::string &target_dir)
{
    Policy policy;
    policy.target_dir = target_dir;
    return policy;
}

Policy never_writable()
{
    Policy policy;
    policy.writable_by_name = false;
    return policy;
}

Policy allowing(std::set<std::string> names)
{
    Policy policy;
    policy.allow = std::move(names);
    return policy;
}

std::string names(const Edits &edits)
{
    std::string text;
    for (const MountEdit &mount : edits.mounts)
        text += mount.container_path + (mount.read_only ? ":ro " : ":rw ");
    return text;
}

Edits plan_quietly(const DirectoryRequest &request, const Policy &policy = {},
                   const Inventory &inventory = host)
{
    Notes notes;
    return plan(request, inventory, policy, notes);
}

} // namespace

BOOST_AUTO_TEST_CASE(all_is_what_the_host_offers)
{
    BOOST_TEST(names(plan_quietly(everything)) ==
               "/srv/datasets:ro /srv/file:ro /srv/models:ro /srv/out_rw:rw ");
}

BOOST_AUTO_TEST_CASE(what_is_left_out_of_all_is_named)
{
    Notes notes;
    plan(everything, host, {}, notes);
    BOOST_REQUIRE(notes.size() == 1);
    BOOST_TEST((notes[0].level == LogLevel::Warning));
    BOOST_TEST(notes[0].text == "'bad' is left out: its symlink leads nowhere");
}

BOOST_AUTO_TEST_CASE(a_mount_says_where_from_and_where_to)
{
    const Edits edits = plan_quietly({false, {"models"}, {}, false}, into("/in"));
    BOOST_TEST((edits == Edits{{{"/data/models", "/in/models", Kind::Directory, true}}}));
    BOOST_TEST(names(plan_quietly({false, {"file"}, {}, false}, into("/"))) == "/file:ro ");
}

BOOST_AUTO_TEST_CASE(writable_goes_by_name)
{
    for (const char *name : {"x_rw", "x_writable", "a_writable_b", "_rw", "_writable"})
        BOOST_TEST(is_writable_name(name), name);
    for (const char *name : {"rw", "x_rwx", "x-rw", "writable", "x_RW", "x_Writable", "x_rw.bak", ""})
        BOOST_TEST(!is_writable_name(name), name);
}

BOOST_AUTO_TEST_CASE(read_only_can_be_asked_for)
{
    BOOST_TEST(names(plan_quietly({false, {"out_rw"}, {"out_rw"}, false})) == "/srv/out_rw:ro ");
    BOOST_TEST(names(plan_quietly({true, {"out_rw"}, {"out_rw"}, false})).ends_with("/srv/out_rw:ro "));
    BOOST_TEST(names(plan_quietly({true, {}, {}, true})).ends_with("/srv/out_rw:ro "));
    BOOST_TEST(names(plan_quietly(everything, never_writable())).ends_with("/srv/out_rw:ro "));
}

BOOST_AUTO_TEST_CASE(owners_are_mapped_only_where_the_host_says_so_and_in_writable_directories)
{
    Policy policy;
    for (const MountEdit &mount : plan_quietly(everything, policy).mounts)
        BOOST_TEST(!mount.idmap);
    policy.idmap = true;
    for (const MountEdit &mount : plan_quietly(everything, policy).mounts)
        BOOST_TEST(mount.idmap == !mount.read_only);
}

BOOST_AUTO_TEST_CASE(an_unknown_directory_is_an_error_that_lists_what_there_is)
{
    const auto failure = failure_of([] { plan_quietly({false, {"datasets", "nope"}, {}, false}); });
    BOOST_TEST((failure.kind == ErrorKind::NotAvailable));
    BOOST_TEST(failure.message ==
               "no directory 'nope': this host offers 'datasets', 'file', 'models', 'out_rw'");
}

BOOST_AUTO_TEST_CASE(a_directory_that_cannot_be_handed_out_is_an_error_if_named)
{
    const auto failure = failure_of([] { plan_quietly({false, {"bad"}, {}, false}); });
    BOOST_TEST((failure.kind == ErrorKind::NotAvailable));
    BOOST_TEST(failure.says("'bad': its symlink leads nowhere"));
}

BOOST_AUTO_TEST_CASE(the_hosts_policy_is_the_limit)
{
    const Policy policy = allowing({"datasets", "absent"});
    BOOST_TEST(names(plan_quietly(everything, policy)) == "/srv/datasets:ro ");
    const auto failure = failure_of([&] { plan_quietly({false, {"models"}, {}, false}, policy); });
    BOOST_TEST((failure.kind == ErrorKind::Denied));
    BOOST_TEST(failure.says("this host offers 'datasets'"), failure.message);
    BOOST_TEST(!failure.says("out_rw"));
}

BOOST_AUTO_TEST_CASE(the_policy_does_not_tell_what_exists)
{
    const Policy policy = allowing({"datasets"});
    for (const char *name : {"models", "nope"}) {
        const auto failure = failure_of([&] { plan_quietly({false, {name}, {}, false}, policy); });
        BOOST_TEST((failure.kind == ErrorKind::Denied), name);
    }
}

BOOST_AUTO_TEST_CASE(names_of_the_policy_that_the_host_does_not_have_are_named)
{
    Notes notes;
    BOOST_TEST(plan(everything, host, allowing({"Datasets", "file", "nope"}), notes).mounts.size() == 1U);
    BOOST_REQUIRE(notes.size() == 1);
    BOOST_TEST((notes[0].level == LogLevel::Warning));
    BOOST_TEST(notes[0].text == "--allow names what '/srv' does not have: 'Datasets', 'nope'");
    // Who asks by name hears of it by name.
    notes.clear();
    plan({false, {"file"}, {}, false}, host, allowing({"file", "nope"}), notes);
    BOOST_TEST(notes.empty());
}

BOOST_AUTO_TEST_CASE(who_asks_as_for_a_volume_is_told_what_there_is)
{
    const auto failure = failure_of([] { plan_quietly({false, {"datasets:rw"}, {}, false}); });
    BOOST_TEST((failure.kind == ErrorKind::NotAvailable));
    BOOST_TEST(failure.says("only ':ro' is understood"), failure.message);
    BOOST_TEST(failure.says("without ':rw'"), failure.message);
    BOOST_TEST(failure.says("this host offers 'datasets'"), failure.message);
    BOOST_TEST(!failure_of([] { plan_quietly({false, {"nope"}, {"nope"}, false}); }).says(":ro"));
    BOOST_TEST(failure_of([] {
                   plan_quietly({false, {"file:z"}, {}, false}, allowing({"file"}));
               }).says("only ':ro' is understood"));
}

BOOST_AUTO_TEST_CASE(nothing_is_allowed_by_an_empty_policy)
{
    const Policy policy = allowing({});
    BOOST_TEST(plan_quietly(everything, policy).mounts.empty());
    BOOST_TEST((failure_of([] { parse_allow("a,,b"); }).kind == ErrorKind::Usage));
    BOOST_TEST(parse_allow(" a , b ") == (std::set<std::string>{"a", "b"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(none_is_nothing)
{
    Notes notes;
    BOOST_TEST(plan({}, host, {}, notes).mounts.empty());
    BOOST_REQUIRE(notes.size() == 1);
    BOOST_TEST(notes[0].text == "nothing to do: none was asked for");
}

BOOST_AUTO_TEST_CASE(without_a_source_directory_all_is_nothing_and_a_name_is_an_error)
{
    const Inventory none{"/srv", false, {}};
    Notes notes;
    BOOST_TEST(plan(everything, none, {}, notes).mounts.empty());
    BOOST_REQUIRE(notes.size() == 1);
    BOOST_TEST((notes[0].level == LogLevel::Warning));
    BOOST_TEST(notes[0].text == "the source directory '/srv' does not exist: there is nothing to give");
    const auto failure = failure_of([&] { plan_quietly({false, {"a"}, {}, false}, {}, none); });
    BOOST_TEST((failure.kind == ErrorKind::NotAvailable));
    BOOST_TEST(failure.message == "no directory 'a': this host has no '/srv'");
}

BOOST_AUTO_TEST_SUITE_END()
