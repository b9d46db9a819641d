// SPDX-License-Identifier: Apache-2.0
//
// By which mounts a container's device cgroups are found, and what is done where these show less, or nothing.
#include <sched.h>
#include <sys/mount.h>

#include <filesystem>
#include <fstream>

#include <boost/test/unit_test.hpp>

#include "base/error.h"
#include "base/exit_status.h"
#include "mounts.h"
#include "support/device_programs.h"
#include "version2.h"

BOOST_AUTO_TEST_SUITE(device_cgroup_mounts)

using namespace ogh;
using namespace ogh::test;

namespace {

/** A mount namespace of its own, in which `change` is done to each mount of this type. */
void change_mounts(const std::string &type, const std::function<void(const Mount &)> &change)
{
    check_call(::unshare(CLONE_NEWNS), "unshare");
    change_mount("/", MS_REC | MS_PRIVATE);
    for (const Mount &mount : read_mounts()) {
        if (mount.type == type)
            change(mount);
    }
}

struct Version1 : CgroupHost {
    const std::string own = make(Version::One, "c1");

    Version1()
    {
        write(own, "devices.deny", "a");
        start(Version::One, own);
    }

    [[nodiscard]] std::string list() const { return read(own, "devices.list"); }

    /** The first note of a request, which is kept. */
    [[nodiscard]] std::string allow() const
    {
        DeviceCgroups container = this->container(own);
        UndoLog undo;
        const Notes notes = container.allow({node(0)}, undo);
        undo.drop();
        return notes.at(0).text;
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_filesystem_that_covers_the_cgroups_is_none, Version1)
{
    const std::string before = list();
    const Outcome outcome = in_child([&] {
        change_mounts("cgroup", [&](const Mount &mount) {
            make_mount("tmpfs", mount.point, "tmpfs");
            std::filesystem::create_directories(mount.point + own);
            for (const char *name : {"/devices.list", "/devices.allow"})
                std::ofstream(mount.point + own + name) << "";
        });
        return allow();
    });
    BOOST_TEST(outcome == (Outcome{0, "no mount of this host shows the container's device cgroup '" + own +
                                          "'; it is left as it is"}));
    BOOST_TEST(list() == before);
}

BOOST_FIXTURE_TEST_CASE(where_they_are_mounted_read_only_there_is_one_note, Version1)
{
    const std::string before = list();
    const Outcome outcome = in_child([&] {
        change_mounts("cgroup", [](const Mount &mount) {
            change_mount(mount.point, MS_REMOUNT | MS_BIND | MS_RDONLY);
        });
        return allow();
    });
    BOOST_TEST(outcome.code == 0);
    BOOST_TEST(outcome.text.find("is not for this process to change") != std::string::npos, outcome);
    BOOST_TEST(list() == before);
}

BOOST_FIXTURE_TEST_CASE(what_denies_above_the_topmost_that_is_mounted_is_told, Version2)
{
    const std::string inner = make(Version::Two, "c1/pod");
    const UniqueFd none = put(like_runc(usual_lines()));
    start_in(inner);
    TempDirectory::directory("alone");
    const Outcome outcome = in_child([&] {
        change_mounts("cgroup2", [&](const Mount &mount) {
            if (mount.point == path("v2"))
                make_mount(path("v2") + inner, path("alone"), "", MS_BIND);
            make_mount("tmpfs", mount.point, "tmpfs");
        });
        try_to_allow(inner, rules);
        return std::string();
    });
    BOOST_TEST(outcome.code == static_cast<int>(ExitStatus::BrokenHost));
    BOOST_TEST(outcome.text.starts_with("a device cgroup above the device cgroup '" + inner +
                                        "' (version 2) denies "),
               outcome);
}

BOOST_AUTO_TEST_SUITE_END()
