// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <utility>

#include <boost/test/unit_test.hpp>

#include "base/unique_fd.h"
#include "kernel/mount_table.h"
#include "support/expect.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(mount_table)

using namespace ogh;
using ogh::test::failure_of;
using ogh::test::TempDirectory;

namespace {

MountTable read(const std::string &text)
{
    const TempDirectory directory;
    directory.file("mountinfo", text);
    const UniqueFd fd(::open(directory.path("mountinfo").c_str(), O_RDONLY | O_CLOEXEC));
    return MountTable(fd.get());
}

constexpr const char *table =
    "22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw\n"
    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "91 27 254:0 /r /b/rootfs rw,relatime master:1 - ext4 /dev/vda rw\n"
    "92 91 0:44 / /b/rootfs/a\\040b rw,relatime shared:7 master:1 - tmpfs tmpfs rw\n";

MountTable read_with(const char *more_lines)
{
    std::string text = table;
    text += more_lines;
    return read(text);
}

} // namespace

BOOST_AUTO_TEST_CASE(shared_mounts_are_told_from_private_and_slave_ones)
{
    const MountTable mounts = read(table);
    BOOST_TEST(mounts.find(22).is_shared);
    BOOST_TEST(!mounts.find(27).is_shared);
    BOOST_TEST(!mounts.find(91).is_shared);
    BOOST_TEST(mounts.find(92).is_shared); // slave and shared at once
}

BOOST_AUTO_TEST_CASE(a_mount_that_is_not_listed_counts_as_shared)
{
    BOOST_TEST(read(table).find(4711).is_shared);
}

BOOST_AUTO_TEST_CASE(filesystems_are_found_by_device)
{
    const MountTable mounts = read(table);
    BOOST_TEST(mounts.has_device(makedev(254, 0)));
    BOOST_TEST(mounts.has_device(makedev(0, 44)));
    BOOST_TEST(!mounts.has_device(makedev(0, 45)));
    BOOST_TEST((mounts.find(92).filesystem == makedev(0, 44)));
    BOOST_TEST(!mounts.find(4711).is_listed);
}

BOOST_AUTO_TEST_CASE(a_mount_or_its_filesystem_may_be_read_only)
{
    const MountTable mounts = read("27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,errors=remount-ro\n"
                                   "28 27 254:0 /r /r relatime,ro - ext4 /dev/vda rw\n"
                                   "29 27 7:0 / /s rw,relatime - squashfs /dev/loop0 ro,errors=continue\n");
    BOOST_TEST(!mounts.find(27).is_read_only);
    BOOST_TEST(mounts.find(28).is_read_only);
    BOOST_TEST(mounts.find(29).is_read_only);
    BOOST_TEST(!mounts.find(4711).is_read_only);
}

BOOST_AUTO_TEST_CASE(a_table_that_is_moved_says_the_same)
{
    MountTable read_first = read("1 1 0:1 / /p rw - t s rw\n");
    const MountTable mounts = std::move(read_first);
    BOOST_TEST(mounts.find(1).point == "/p");
    BOOST_TEST(mounts.find(1).type == "t");
}

BOOST_AUTO_TEST_CASE(mount_points_are_named)
{
    BOOST_TEST(read(table).find(92).point == "/b/rootfs/a b");
    BOOST_TEST(read(table).find(4711).point.empty());
}

BOOST_AUTO_TEST_CASE(mounts_are_found_by_their_source)
{
    const MountTable mounts =
        read_with("93 91 0:45 / /b/rootfs/n rw - tmpfs oci-gpu-hooks rw\n"
                  "94 91 0:46 /oci-gpu-hooks /b/rootfs/oci-gpu-hooks rw - tmpfs oci-gpu-hooks2 rw\n"
                  "95 91 0:47 / /b/rootfs/m rw - tmpfs oci-gpu-hooks rw\n");
    BOOST_TEST(mounts.ids_of_source("oci-gpu-hooks") == (std::vector<std::uint64_t>{93, 95}),
               boost::test_tools::per_element());
    BOOST_TEST(mounts.ids_of_source("none").empty());
}

BOOST_AUTO_TEST_CASE(cgroup_hierarchies_are_found_by_controller_the_latest_mount_first)
{
    const MountTable mounts =
        read_with("31 27 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n"
                  "32 27 0:31 / /sys/fs/cgroup/freezer,devices rw - cgroup cgroup rw,freezer,devices\n"
                  "33 27 0:32 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
                  "34 27 0:30 /a\\040b /mnt/c rw - cgroup2 none rw\n");
    const std::vector<CgroupMount> second = mounts.cgroup_mounts("");
    BOOST_REQUIRE(second.size() == 2);
    BOOST_TEST(second[0].root == "/a b");
    BOOST_TEST(second[0].point == "/mnt/c");
    BOOST_TEST(second[1].point == "/sys/fs/cgroup/unified");
    const std::vector<CgroupMount> first = mounts.cgroup_mounts("devices");
    BOOST_REQUIRE(first.size() == 1);
    BOOST_TEST(first[0].root == "/");
    BOOST_TEST(first[0].point == "/sys/fs/cgroup/freezer,devices");
    BOOST_TEST(mounts.cgroup_mounts("memory").empty());
    BOOST_TEST(mounts.cgroup_mounts("device").empty());
}

BOOST_AUTO_TEST_CASE(a_line_that_cannot_be_understood_is_an_error)
{
    for (const char *line : {"x\n", "22 27 0:21 / /proc\n", "a b c d e f - g h i\n"})
        BOOST_TEST((failure_of([&] { read_with(line); }).kind == ErrorKind::BrokenHost), line);
}

BOOST_AUTO_TEST_CASE(the_kernels_own_table_is_read)
{
    const UniqueFd fd(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
    struct stat proc {};
    BOOST_REQUIRE(::stat("/proc", &proc) == 0);
    BOOST_TEST(MountTable(fd.get()).has_device(proc.st_dev));
}

BOOST_AUTO_TEST_SUITE_END()
