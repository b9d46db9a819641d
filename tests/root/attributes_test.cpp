// SPDX-License-Identifier: Apache-2.0
//
// What a program in the container can and cannot do with what it was given.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "base/unique_fd.h"
#include "sandbox.h"

BOOST_AUTO_TEST_SUITE(attributes)

using namespace ogh;
using namespace ogh::test;
namespace data = boost::unit_test::data;

namespace {

/** A directory with a tmpfs mounted below it, and one more below that; all of it writable and shared on the host. */
struct Tree : Sandbox {
    Tree()
    {
        for (const char *name : {"", "/memory", "/memory/deep"}) {
            directory("src/data" + std::string(name));
            if (*name == '\0')
                make_mount(src("data"), src("data"), "", MS_BIND);
            else
                make_mount("tmpfs", src("data" + std::string(name)), "tmpfs");
            change_mount(src("data" + std::string(name)), MS_SHARED);
            fill(src("data" + std::string(name)));
        }
        file("rootfs/srv/.keep");
    }

    static void fill(const std::string &directory)
    {
        std::ofstream(directory + "/file") << "content";
        std::ofstream(directory + "/program") << "#!/bin/true";
        check_call(::chmod((directory + "/program").c_str(), 04755), "chmod");
        check_call(::mknod((directory + "/null").c_str(), S_IFCHR | 0666U, makedev(1, 3)), "mknod");
        check_call(::mknod((directory + "/disk").c_str(), S_IFBLK | 0666U, makedev(7, 0)), "mknod");
    }

    /** What a call inside the container returned: "" or the text of errno. */
    [[nodiscard]] std::string inside(const std::function<long()> &call)
    {
        const Outcome outcome = container().inside([&] {
            check_call(call(), "call");
            return std::string();
        });
        return outcome.text.starts_with("call: ") ? outcome.text.substr(6) : outcome.text;
    }
};

const auto levels = std::to_array<const char *>({"", "/memory", "/memory/deep"});

const std::string read_only_error = "Read-only file system";

} // namespace

BOOST_DATA_TEST_CASE_F(Tree, every_mount_of_a_tree_has_them, data::make({true, false}), read_only)
{
    start();
    BOOST_TEST(done(commit(data_at({"/srv/data"}, read_only))));
    BOOST_TEST(places() == (Lines{"/srv/data", "/srv/data/memory", "/srv/data/memory/deep"}),
               boost::test_tools::per_element());
    for (const Mount &mount : container().added()) {
        BOOST_TEST(mount.has("nosuid"), mount);
        BOOST_TEST(mount.has("nodev"), mount);
        BOOST_TEST(mount.has(read_only ? "ro" : "rw"), mount);
        BOOST_TEST(mount.tags.empty(), mount); // private: neither shared nor slave
    }
}

BOOST_DATA_TEST_CASE_F(Tree, what_is_read_only_cannot_be_changed_at_any_depth, data::make(levels), level)
{
    start();
    BOOST_TEST(done(commit(data_at({"/srv/data"}))));
    const std::string at = "/srv/data" + std::string(level);
    BOOST_TEST(inside([&] { return ::creat((at + "/new").c_str(), 0644); }) == read_only_error);
    BOOST_TEST(inside([&] { return ::open((at + "/file").c_str(), O_WRONLY); }) == read_only_error);
    BOOST_TEST(inside([&] { return ::mkdir((at + "/new").c_str(), 0755); }) == read_only_error);
    BOOST_TEST(inside([&] { return ::unlink((at + "/file").c_str()); }) == read_only_error);
    BOOST_TEST(inside([&] { return ::chmod((at + "/file").c_str(), 0); }) == read_only_error);
    BOOST_TEST(inside([&] { return ::truncate((at + "/file").c_str(), 0); }) == read_only_error);
    BOOST_TEST(inside([&] { return ::open((at + "/file").c_str(), O_RDONLY); }).empty());
}

BOOST_DATA_TEST_CASE_F(Tree, what_is_writable_is_so_at_any_depth_and_the_host_sees_it, data::make(levels),
                       level)
{
    start();
    sources_may_change();
    BOOST_TEST(done(commit(data_at({"/srv/out_rw"}, false))));
    const std::string at = "/srv/out_rw" + std::string(level);
    BOOST_TEST(inside([&] { return ::creat((at + "/new").c_str(), 0644); }).empty());
    BOOST_TEST(inside([&] { return ::unlink((at + "/file").c_str()); }).empty());
    BOOST_TEST(::access(src("data" + std::string(level) + "/new").c_str(), F_OK) == 0);
    BOOST_TEST(::access(src("data" + std::string(level) + "/file").c_str(), F_OK) != 0);
}

BOOST_DATA_TEST_CASE_F(Tree, a_device_node_does_not_open, data::make(levels) * data::make({true, false}),
                       level, read_only)
{
    start();
    BOOST_TEST(done(commit(data_at({"/srv/data"}, read_only))));
    const std::string at = "/srv/data" + std::string(level);
    BOOST_TEST(inside([&] { return ::open((at + "/null").c_str(), O_RDONLY); }) == "Permission denied");
    BOOST_TEST(inside([&] { return ::open((at + "/disk").c_str(), O_RDONLY); }) == "Permission denied");
    BOOST_TEST(
        UniqueFd(::open(src("data/null").c_str(), O_RDONLY | O_CLOEXEC)).valid()); // on the host it does
}

BOOST_DATA_TEST_CASE_F(Tree, setuid_has_no_effect, data::make(levels), level)
{
    start();
    BOOST_TEST(done(commit(data_at({"/srv/out_rw"}, false))));
    const std::string program = "/srv/out_rw" + std::string(level) + "/program";
    const Outcome outcome = container().inside([&] {
        struct statvfs filesystem {};
        check_call(::statvfs(program.c_str(), &filesystem), "statvfs");
        return std::string((filesystem.f_flag & ST_NOSUID) != 0 ? "nosuid" : "suid");
    });
    BOOST_TEST(outcome.text == "nosuid");
}

BOOST_FIXTURE_TEST_CASE(a_plain_file_has_them_too, Tree)
{
    start();
    BOOST_TEST(done(commit(list_at("/srv/list"))));
    BOOST_REQUIRE(container().added().size() == 1U);
    const Mount mount = container().added().front();
    BOOST_TEST((mount.has("ro") && mount.has("nosuid") && mount.has("nodev") && mount.tags.empty()), mount);
    BOOST_TEST(inside([] { return ::open("/srv/list", O_WRONLY); }) == read_only_error);
    BOOST_TEST(inside([] { return ::open("/srv/list", O_RDONLY); }).empty());
}

BOOST_FIXTURE_TEST_CASE(what_the_host_mounts_later_does_not_appear_below, Tree)
{
    start();
    BOOST_TEST(done(commit(data_at({"/srv/data"}))));
    make_mount("tmpfs", src("data/sub"), "tmpfs");
    const Lines seen = places();
    check_call(::umount2(src("data/sub").c_str(), 0), "umount");
    BOOST_TEST(std::count(seen.begin(), seen.end(), "/srv/data") == 1);
    BOOST_TEST(std::count(seen.begin(), seen.end(), "/srv/data/sub") == 0);
}

BOOST_FIXTURE_TEST_CASE(attributes_of_the_host_that_are_not_named_stay, Tree)
{
    change_mount(src("data"), MS_REMOUNT | MS_BIND | MS_NOEXEC | MS_NOATIME);
    change_mount(src("data/memory"), MS_REMOUNT | MS_BIND | MS_RDONLY);
    start();
    BOOST_TEST(done(commit(data_at({"/srv/out_rw"}, false))));
    const Mounts mounts = container().added();
    BOOST_REQUIRE(mounts.size() == 3U);
    BOOST_TEST((mounts[0].has("noexec") && mounts[0].has("noatime") && mounts[0].has("rw")), mounts[0]);
    BOOST_TEST(mounts[1].has("ro"), mounts[1]);
    BOOST_TEST(mounts[2].has("rw"), mounts[2]);
}

BOOST_AUTO_TEST_SUITE_END()
