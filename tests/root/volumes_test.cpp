// SPDX-License-Identifier: Apache-2.0
//
// What is made in a volume is made on the host, and what is mounted on a shared mount appears there.
#include <sched.h>
#include <sys/mount.h>

#include <filesystem>
#include <string>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "sandbox.h"

BOOST_AUTO_TEST_SUITE(volumes)

using namespace ogh;
using namespace ogh::test;
namespace data = boost::unit_test::data;

namespace {

struct Host : Sandbox {
    Host() { directory("rootfs/srv"); }

    /** A container with `source` of the host as a volume at `place`. */
    [[nodiscard]] static Creation with_volume(const std::string &source, const std::string &place,
                                              unsigned long propagation = MS_SLAVE)
    {
        return {
            .set_up =
                [=](const std::string &rootfs) { make_mount(source, rootfs + place, "", MS_BIND | MS_REC); },
            .propagation = propagation};
    }

    /** A directory of the host whose mounts are passed on to other namespaces. */
    [[nodiscard]] std::string shared_directory()
    {
        directory("volume/x");
        make_mount(path("volume"), path("volume"), "", MS_BIND);
        change_mount(path("volume"), MS_SHARED);
        return path("volume");
    }

    void expect_refused(const Edits &edits, const std::string &words)
    {
        const Lines before = image();
        BOOST_TEST(refused(commit(edits), words));
        BOOST_TEST(places() == Lines(), boost::test_tools::per_element());
        BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
        check_nothing_escaped();
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(in_a_volume_nothing_is_made, Host)
{
    start(with_volume(outside(), "/srv"));
    expect_refused(data_at({"/srv/x"}),
                   "cannot make '/srv/x' in the container: it would lie in a volume ('/srv')");
    expect_refused(list_at("/srv/x"), "it would lie in a volume");
    expect_refused(data_at({"/srv/dir/deeper/x"}), "cannot make '/srv/dir/deeper'");
}

BOOST_FIXTURE_TEST_CASE(what_exists_in_a_volume_is_mounted_over, Host)
{
    start(with_volume(outside(), "/srv"));
    BOOST_TEST(done(commit(data_at({"/srv/data", "/srv/dir/inner"}))));
    BOOST_TEST(places() == (Lines{"/srv/data", "/srv/dir/inner"}), boost::test_tools::per_element());
    const Outcome seen = container().inside([] { return snapshot("/srv/data").back(); });
    BOOST_TEST(seen.text.find("/sub") != std::string::npos, seen);
}

BOOST_FIXTURE_TEST_CASE(a_plain_file_in_a_volume_is_mounted_over, Host)
{
    start(with_volume(outside(), "/srv"));
    BOOST_TEST(done(commit(list_at("/srv/secret"))));
    BOOST_TEST(places() == Lines{"/srv/secret"}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_link_of_the_image_into_a_volume_is_a_volume_too, Host)
{
    directory("rootfs/mnt");
    directory("rootfs/image");
    link("rootfs/image/data", "/mnt");
    start(with_volume(outside(), "/mnt"));
    expect_refused(data_at({"/image/data/x"}), "it would lie in a volume");
}

BOOST_FIXTURE_TEST_CASE(a_volume_below_the_target_directory_is_told_from_the_directory, Host)
{
    directory("rootfs/srv/volume");
    start(with_volume(outside(), "/srv/volume"));
    expect_refused(data_at({"/srv/volume/x"}), "it would lie in a volume");
    BOOST_TEST(done(commit(data_at({"/srv/x"}))));
    BOOST_TEST(places() == Lines{"/srv/x"}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_directory_of_the_image_as_a_volume_is_a_volume, Host)
{
    directory("rootfs/srv/within");
    start(with_volume(rootfs("srv/within"), "/srv"));
    expect_refused(data_at({"/srv/x"}), "it would lie in a volume");
}

BOOST_FIXTURE_TEST_CASE(a_tmpfs_of_the_host_is_a_volume, Host)
{
    directory("memory");
    make_mount("tmpfs", path("memory"), "tmpfs");
    start(with_volume(path("memory"), "/srv"));
    expect_refused(data_at({"/srv/x"}), "it would lie in a volume");
    BOOST_TEST(snapshot(path("memory")).size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_btrfs_of_the_host_is_a_volume, Host)
{
    // Its files have other device numbers than its line in the mount table.
    directory("btrfs");
    file("image");
    std::filesystem::resize_file(path("image"), std::uintmax_t{128} << 20U);
    BOOST_REQUIRE(run_program({"mkfs.btrfs", "--quiet", path("image")}) == 0);
    BOOST_REQUIRE(run_program({"mount", "-o", "loop", path("image"), path("btrfs")}) == 0);
    directory("btrfs/existing");
    start(with_volume(path("btrfs"), "/srv"));
    expect_refused(data_at({"/srv/x"}), "it would lie in a volume ('/srv')");
    BOOST_TEST(snapshot(path("btrfs")).size() == 2U);
    BOOST_TEST(done(commit(data_at({"/srv/existing"}))));
}

BOOST_FIXTURE_TEST_CASE(a_message_queue_filesystem_that_the_host_lacks_is_a_volume, Host)
{
    // A file that is made there is a POSIX message queue of all who share the IPC namespace (ipc/mqueue.c).
    start({.set_up = [](const std::string &rootfs) {
        BOOST_REQUIRE(::unshare(CLONE_NEWIPC) == 0);
        make_mount("mqueue", rootfs + "/srv", "mqueue");
    }});
    expect_refused(list_at("/srv/x"), "it would lie in a volume ('/srv')");
}

BOOST_FIXTURE_TEST_CASE(an_overlay_that_the_host_lacks_is_a_volume, Host)
{
    // As podman's `--volume low:/srv:O,upperdir=…` makes it: what is made there stays in the upper directory.
    for (const char *name : {"low", "up", "work"})
        directory(name);
    const std::string options =
        "lowerdir=" + path("low") + ",upperdir=" + path("up") + ",workdir=" + path("work");
    start({.set_up = [=](const std::string &rootfs) {
        BOOST_REQUIRE(::mount("overlay", (rootfs + "/srv").c_str(), "overlay", 0, options.c_str()) == 0);
    }});
    expect_refused(data_at({"/srv/x", "/srv/deep/y"}), "it would lie in a volume ('/srv')");
    BOOST_TEST(snapshot(path("up")).size() == 1U);
}

BOOST_DATA_TEST_CASE_F(Host, what_lies_in_memory_of_the_container_is_part_of_its_root,
                       data::make({"tmpfs", "ramfs"}), type)
{
    start({.set_up = [=](const std::string &rootfs) { make_mount(type, rootfs + "/srv", type); }});
    BOOST_TEST(done(commit(data_at({"/srv/x", "/srv/deep/y"}))));
    BOOST_TEST(done(commit(list_at("/srv/list"))));
    BOOST_TEST(places() == (Lines{"/srv/x", "/srv/deep/y", "/srv/list"}), boost::test_tools::per_element());
    BOOST_TEST(snapshot(rootfs("srv")).size() == 1U); // on the host the directory is still empty
}

BOOST_DATA_TEST_CASE_F(Host, on_a_shared_mount_nothing_is_mounted, data::make({"/srv/x", "/srv/new"}), place)
{
    start(with_volume(shared_directory(), "/srv", MS_SHARED));
    expect_refused(data_at({place}),
                   std::string(place) == "/srv/x" ? "it lies on a shared mount" : "it would lie in a volume");
    BOOST_TEST(snapshot(path("volume")).size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(in_a_shared_root_nothing_is_made_or_mounted, Host)
{
    directory("rootfs/srv/x");
    start({.set_up = [](const std::string &rootfs) { change_mount(rootfs, MS_SHARED); }});
    expect_refused(data_at({"/srv/x"}), "it lies on a shared mount");
    expect_refused(data_at({"/srv/new"}), "it lies on a shared mount");
}

BOOST_FIXTURE_TEST_CASE(a_shared_volume_elsewhere_does_not_matter, Host)
{
    directory("rootfs/mnt");
    start(with_volume(shared_directory(), "/mnt", MS_SHARED));
    BOOST_TEST(done(commit(data_at({"/srv/x"}))));
    BOOST_TEST(places() == Lines{"/srv/x"}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_slave_volume_keeps_mounts_to_itself, Host)
{
    start(with_volume(shared_directory(), "/srv", MS_SLAVE));
    BOOST_TEST(done(commit(data_at({"/srv/x"}))));
    BOOST_TEST(places() == Lines{"/srv/x"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
