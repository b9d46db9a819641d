// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "host/sysroot.h"
#include "support/expect.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(sysroot)

using namespace ogh;
using ogh::test::failure_of;
using ogh::test::TempDirectory;

BOOST_AUTO_TEST_CASE(a_sysroot_is_an_existing_absolute_directory)
{
    const TempDirectory tree;
    tree.file("file");
    BOOST_TEST((failure_of([] { Sysroot("usr"); }).kind == ErrorKind::Usage));
    BOOST_TEST((failure_of([&] { Sysroot(tree.path("nowhere")); }).kind == ErrorKind::BrokenHost));
    BOOST_TEST((failure_of([&] { Sysroot(tree.path("file")); }).kind == ErrorKind::BrokenHost));
}

BOOST_AUTO_TEST_CASE(paths_come_back_canonical_below_the_sysroot)
{
    const TempDirectory tree;
    tree.directory("real/a/b");
    tree.link("alias", "real");
    const Sysroot sysroot(tree.path("alias"));
    BOOST_TEST(sysroot.find("/a/./b/../b/")->path == "/a/b");
    BOOST_TEST(sysroot.find("/../../a")->path == "/a");
    BOOST_TEST(sysroot.find("/")->path == "/");
    BOOST_TEST(sysroot.on_host("/a") == tree.path("real/a"));
    BOOST_TEST(sysroot.on_host("/") == tree.path("real"));
    BOOST_TEST(Sysroot("/").on_host("/srv") == "/srv");
    BOOST_TEST(Sysroot("/").on_host("/") == "/");
}

BOOST_AUTO_TEST_CASE(the_root_of_a_process_keeps_the_name_by_which_it_was_found)
{
    const TempDirectory tree;
    tree.directory("root/srv/data");
    tree.link("root/link", "/srv/data");
    tree.directory("srv");
    const Sysroot root =
        Sysroot::of_directory(std::move(Sysroot(tree.path()).find("/root")->fd), "/proc/812/root");
    BOOST_TEST(root.on_host("/srv") == "/proc/812/root/srv");
    BOOST_TEST(root.on_host("/") == "/proc/812/root");
    BOOST_TEST(root.find("/link")->path == "/srv/data");
    BOOST_TEST(root.find("/../../../srv/data").has_value());
}

BOOST_AUTO_TEST_CASE(forty_symlinks_are_followed_and_no_more)
{
    const TempDirectory tree;
    tree.directory("l0");
    for (int i = 1; i <= 41; ++i)
        tree.link("l" + std::to_string(i), "l" + std::to_string(i - 1));
    const Sysroot sysroot(tree.path());
    BOOST_TEST(sysroot.find("/l40")->path == "/l0");
    BOOST_TEST(failure_of([&] { static_cast<void>(sysroot.find("/l41")); }).says("Too many levels"));
}

BOOST_AUTO_TEST_CASE(the_guard_sees_each_directory_that_a_name_is_looked_up_in_and_each_symlink)
{
    const TempDirectory tree;
    tree.directory("a/b/c");
    tree.link("link", "a/b/c");
    int seen = 0;
    static_cast<void>(Sysroot(tree.path()).find("/link", [&](int) { ++seen; }));
    BOOST_TEST(seen == 5); // the root, the link, the root again, a, b
}

BOOST_AUTO_TEST_CASE(a_file_on_the_way_is_an_error)
{
    const TempDirectory tree;
    tree.file("file");
    BOOST_TEST(
        failure_of([&] { static_cast<void>(Sysroot(tree.path()).find("/file/x")); }).says("Not a directory"));
}

BOOST_AUTO_TEST_SUITE_END()
