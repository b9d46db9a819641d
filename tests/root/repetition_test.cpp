// SPDX-License-Identifier: Apache-2.0
//
// The same container twice.
#include <fcntl.h>
#include <sys/mount.h>

#include <boost/test/unit_test.hpp>

#include "sandbox.h"

BOOST_AUTO_TEST_SUITE(repetition)

using namespace ogh;
using namespace ogh::test;

BOOST_FIXTURE_TEST_CASE(a_second_run_changes_nothing, Sandbox)
{
    directory("src/data/below");
    make_mount("tmpfs", src("data/below"), "tmpfs");
    directory("rootfs/srv/existing");
    start();
    Edits edits = data_at({"/srv/new", "/srv/existing"});
    edits.mounts.push_back(list_at("/srv/list").mounts.front());
    edits.mounts.push_back({src("data"), "/srv/out_rw", Kind::Directory, false});
    BOOST_TEST(done(commit(edits)));
    const Mounts first = container().added();
    const Lines image_then = image();
    BOOST_TEST(first.size() == 7U); // four, and the tmpfs below three of them
    for (int again = 0; again < 3; ++again) {
        const Outcome outcome = commit(edits);
        BOOST_TEST(done(outcome));
        BOOST_TEST(outcome.text.find("'/srv/new' is mounted already") != std::string::npos, outcome);
        BOOST_TEST(container().added() == first, boost::test_tools::per_element());
    }
    BOOST_TEST(differences(image_then, image()) == Lines(), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_second_run_with_other_directories_adds_them, Sandbox)
{
    start();
    BOOST_TEST(done(commit(data_at({"/srv/a", "/srv/b"}))));
    const Mounts first = container().added();
    BOOST_TEST(done(commit(data_at({"/srv/b", "/srv/c"}))));
    const Mounts second = container().added();
    BOOST_REQUIRE(second.size() == 3U);
    BOOST_TEST(Mounts(second.begin(), second.begin() + 2) == first, boost::test_tools::per_element());
    BOOST_TEST(places() == (Lines{"/srv/a", "/srv/b", "/srv/c"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_directory_asked_for_read_only_afterwards_becomes_read_only, Sandbox)
{
    start();
    BOOST_TEST(done(commit(data_at({"/srv/a"}, false))));
    BOOST_TEST(done(commit(data_at({"/srv/a"}, true))));
    BOOST_TEST(places() == (Lines{"/srv/a", "/srv/a"}), boost::test_tools::per_element());
    BOOST_TEST(container().added().back().has("ro"), container().added().back());
    const auto write = [] {
        check_call(::creat("/srv/a/new", 0644), "creat");
        return std::string();
    };
    BOOST_TEST(container().inside(write).text == "creat: Read-only file system");
}

BOOST_FIXTURE_TEST_CASE(another_directory_at_the_same_place_is_mounted_over_the_first, Sandbox)
{
    directory("src/other");
    start();
    BOOST_TEST(done(commit(data_at({"/srv/a"}))));
    BOOST_TEST(done(commit({{{src("other"), "/srv/a", Kind::Directory, true}}})));
    BOOST_TEST(container().added().size() == 2U);
    BOOST_TEST(container().added().back().root.ends_with("/src/other"), container().added().back());
}

BOOST_FIXTURE_TEST_CASE(a_directory_of_the_same_number_on_another_filesystem_is_another_one, Sandbox)
{
    for (const char *name : {"src/one", "src/two"}) {
        directory(name);
        make_mount("tmpfs", path(name), "tmpfs"); // the root of each has the same inode number
    }
    start();
    BOOST_TEST(done(commit({{{src("one"), "/srv/a", Kind::Directory, true}}})));
    const Outcome outcome = commit({{{src("two"), "/srv/a", Kind::Directory, true}}});
    BOOST_TEST(done(outcome));
    BOOST_TEST(outcome.text.find("already") == std::string::npos, outcome);
    BOOST_TEST(container().added().size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(a_source_that_is_read_only_on_the_host_is_recognized, Sandbox)
{
    make_mount(src("data"), src("data"), "", MS_BIND);
    change_mount(src("data"), MS_REMOUNT | MS_BIND | MS_RDONLY);
    start();
    BOOST_TEST(done(commit(data_at({"/srv/out_rw"}, false))));
    const Mounts first = container().added();
    BOOST_TEST(done(commit(data_at({"/srv/out_rw"}, false))));
    BOOST_TEST(container().added() == first, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(the_same_directory_inside_the_source_is_not_taken_for_the_source, Sandbox)
{
    // The place is the source itself, but nothing is mounted there yet.
    directory("rootfs/srv/a");
    start();
    BOOST_TEST(done(commit({{{rootfs("srv/a"), "/srv/a", Kind::Directory, true}}})));
    BOOST_TEST(places() == Lines{"/srv/a"}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_volume_that_shows_the_source_is_not_taken_for_a_mount_of_it, Sandbox)
{
    // With the attributes that the mount would have, and the source below the volume's own top.
    directory("rootfs/srv");
    start({.set_up = [&](const std::string &root) {
        make_mount(src(), root + "/srv", "", MS_BIND);
        change_mount(root + "/srv", MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV);
    }});
    BOOST_TEST(done(commit(data_at({"/srv/data"}))));
    BOOST_TEST(places() == Lines{"/srv/data"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
