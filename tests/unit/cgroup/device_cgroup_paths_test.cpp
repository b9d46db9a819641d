// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "cgroup/cgroup_directory.h"
#include "cgroup/device_cgroup.h"

BOOST_AUTO_TEST_SUITE(device_cgroup_paths)

using namespace ogh;

namespace {

using Paths = std::vector<std::string>;
using Type = DeviceRule::Type;

constexpr unsigned rw = access_read | access_write;

constexpr const char *hybrid = "9:name=systemd:/s\n"
                               "6:freezer,devices:/a:b/c\n"
                               "4:memory:/m\n"
                               "0::/u\n";

} // namespace

BOOST_AUTO_TEST_CASE(a_hierarchy_is_found_by_its_controller)
{
    BOOST_TEST(cgroup_of(hybrid, "devices").value() == "/a:b/c");
    BOOST_TEST(cgroup_of(hybrid, "").value() == "/u");
    BOOST_TEST(!cgroup_of(hybrid, "device").has_value());
    BOOST_TEST(!cgroup_of("4:memory:/m\n", "").has_value());
    BOOST_TEST(cgroup_of("0::/last", "").value() == "/last");
    for (const char *text : {"", "\n", "x\n", "1:devices\n", ":\n"})
        BOOST_TEST(!cgroup_of(text, "devices").has_value(), text);
}

BOOST_AUTO_TEST_CASE(a_path_names_the_topmost_cgroup)
{
    BOOST_TEST((container_cgroups("/ci/c1", "/", "/ci/c1") == Paths{"/ci/c1"}));
    BOOST_TEST((container_cgroups("/ci/c1/a/b", "/", "/ci/c1") == Paths{"/ci/c1", "/ci/c1/a", "/ci/c1/a/b"}));
    BOOST_TEST((container_cgroups("/ci/c1", "/", "//ci/./x/../c1/") == Paths{"/ci/c1"}));
    BOOST_TEST((container_cgroups("/own/c1", "/own", "c1") == Paths{"/own/c1"}));
    // A runtime in a container does not see what is above its own root.
    BOOST_TEST(
        (container_cgroups("/outer/ci/c1/a", "/outer", "/ci/c1") == Paths{"/outer/ci/c1", "/outer/ci/c1/a"}));
}

BOOST_AUTO_TEST_CASE(systemds_form_names_a_scope)
{
    const std::string scope = "/machine.slice/libpod-4f.scope";
    BOOST_TEST((container_cgroups(scope, "/system.slice/x", "machine.slice:libpod:4f") == Paths{scope}));
    BOOST_TEST((container_cgroups(scope + "/container", "/", "machine.slice:libpod:4f") ==
                Paths{scope, scope + "/container"}));
    BOOST_TEST((container_cgroups("/system.slice/4f.scope/container", "/", "::4f") ==
                Paths{"/system.slice/4f.scope", "/system.slice/4f.scope/container"}));
    BOOST_TEST((container_cgroups("/system.slice/-4f.scope/container", "/", "::4f").size() == 2));
    BOOST_TEST((container_cgroups("/a.slice/a-b.slice/x", "/", "a.slice::a-b.slice") ==
                Paths{"/a.slice/a-b.slice", "/a.slice/a-b.slice/x"}));
    // Without systemd it is a name like any other.
    BOOST_TEST((container_cgroups("/a:b:c/x", "/", "a:b:c") == Paths{"/a:b:c", "/a:b:c/x"}));
}

BOOST_AUTO_TEST_CASE(what_no_path_names_is_not_the_containers)
{
    for (const char *path : {"", "/", "/other", "/c", "i/c1", "/ci/c1/x", ".."})
        BOOST_TEST((container_cgroups("/ci/c1", "/run", path) == Paths{"/ci/c1"}), path);
}

BOOST_AUTO_TEST_CASE(the_nearest_cgroup_of_that_name_counts)
{
    BOOST_TEST((container_cgroups("/c/c/x", "/", "c") == Paths{"/c/c", "/c/c/x"}));
}

BOOST_AUTO_TEST_CASE(a_scope_of_the_containers_own_is_found)
{
    const std::string scope = "/machine.slice/libpod-4f.scope";
    const std::string named = "machine.slice:libpod:4f";
    BOOST_TEST((scope_cgroups({scope}, "/system.slice/x", named) == Paths{scope}));
    BOOST_TEST((scope_cgroups({scope, scope + "/container"}, "/", named) == Paths{scope}));
    BOOST_TEST((scope_cgroups({"/garden/x"}, "/system.slice/worker.service", "garden/x") == Paths{}));
    BOOST_TEST((scope_cgroups({}, "/", "") == Paths{}));
    // crun makes up a name where it is told none.
    BOOST_TEST((scope_cgroups({scope + "/container"}, "/", "") == Paths{scope}));
    BOOST_TEST((scope_cgroups({"/x.scope/a/container"}, "/", "") == Paths{}));
}

BOOST_AUTO_TEST_CASE(a_scope_that_has_others_in_it_is_not_the_containers)
{
    const std::string session = "/user.slice/session-3.scope";
    BOOST_TEST((scope_cgroups({session + "/c1"}, session, "") == Paths{}));
    BOOST_TEST((scope_cgroups({session + "/c1"}, session + "/runtime", "") == Paths{}));
    BOOST_TEST((scope_cgroups({"/jobs.scope/c1"}, "/system.slice/x", "/jobs.scope/c1") == Paths{}));
}

BOOST_AUTO_TEST_CASE(the_runtimes_own_cgroup_and_those_above_are_never_the_containers)
{
    BOOST_TEST((container_cgroups("/", "/", "/") == Paths{}));
    BOOST_TEST((container_cgroups("/own", "/own", "/own") == Paths{}));
    BOOST_TEST((container_cgroups("/own", "/own/below", "/own") == Paths{}));
    BOOST_TEST((container_cgroups("/own/c1/x", "/own", "/own") == Paths{"/own/c1/x"}));
    BOOST_TEST((container_cgroups("/a/c1", "/a/c1-runtime", "/a/c1") == Paths{"/a/c1"}));
}

BOOST_AUTO_TEST_CASE(cgroups_are_found_below_the_root_of_a_mount)
{
    BOOST_TEST(path_below("/a/b", "/").value() == "a/b");
    BOOST_TEST(path_below("/a/b", "/a").value() == "b");
    BOOST_TEST(path_below("/a", "/a").value() == ".");
    BOOST_TEST(path_below("/", "/").value() == ".");
    BOOST_TEST(!path_below("/ab", "/a").has_value());
    BOOST_TEST(!path_below("/", "/a").has_value());
    BOOST_TEST(!path_below("/../x", "/").has_value());
    BOOST_TEST(!path_below("/..", "/").has_value());
    BOOST_TEST(path_below("/..x", "/").value() == "..x");
}

BOOST_AUTO_TEST_CASE(a_line_allows_what_it_covers)
{
    constexpr const char *list = "c *:* m\nc 1:3 rwm\nc 136:* rw\nc 5:0 r\nc 5:0 w\nb 8:1 rwm\n";
    BOOST_TEST(list_allows(list, {Type::Char, 1, 3, rw}));
    BOOST_TEST(list_allows(list, {Type::Char, 136, 9, rw}));
    BOOST_TEST(list_allows(list, {Type::Char, 195, 0, access_mknod}));
    BOOST_TEST(list_allows("a *:* rwm\n", {Type::Block, 195, 0, 7}));
    BOOST_TEST(!list_allows(list, {Type::Char, 195, 0, rw}));
    BOOST_TEST(!list_allows(list, {Type::Block, 1, 3, rw}));
    BOOST_TEST(!list_allows(list, {Type::Char, 8, 1, rw}));
    BOOST_TEST(!list_allows(list, {Type::Char, 136, 9, 7}));
    // The kernel does not put two lines together.
    BOOST_TEST(!list_allows(list, {Type::Char, 5, 0, rw}));
}

BOOST_AUTO_TEST_CASE(lines_of_another_form_allow_nothing)
{
    for (const char *list : {"", "\n", "c 1:3\n", "c 1 rw\n", "c 1:3:4 rw\n", "c 1:3 rw x\n", "x 1:3 rw\n"})
        BOOST_TEST(!list_allows(list, {Type::Char, 1, 3, rw}), list);
}

BOOST_AUTO_TEST_CASE(a_devices_own_line_is_told_from_wider_ones)
{
    constexpr const char *list = "c 195:* rw\nc 195:0 r\n";
    BOOST_TEST(access_in_own_line(list, {Type::Char, 195, 0, rw}) == access_read);
    BOOST_TEST(access_in_own_line(list, {Type::Char, 195, 1, rw}) == 0U);
    BOOST_TEST(access_in_own_line(list, {Type::Block, 195, 0, rw}) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
