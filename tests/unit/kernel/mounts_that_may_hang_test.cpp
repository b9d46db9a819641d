// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <boost/test/unit_test.hpp>

#include "base/unique_fd.h"
#include "kernel/mount_table.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(mounts_that_may_hang)

using namespace ogh;
using ogh::test::TempDirectory;

namespace {

/** "TYPE at POINT" of what is served in a table. */
std::vector<std::string> served_in(const std::string &text)
{
    const TempDirectory directory;
    directory.file("mountinfo", text);
    const UniqueFd fd(::open(directory.path("mountinfo").c_str(), O_RDONLY | O_CLOEXEC));
    std::vector<std::string> found;
    for (const TypedMount &mount : MountTable(fd.get()).mounts_that_may_hang())
        found.push_back(mount.type + " at " + mount.point);
    return found;
}

std::string line_of(const std::string &type, const std::string &point = "/x")
{
    return "92 91 0:44 / " + point + " rw,relatime shared:7 master:1 - " + type + " source rw\n";
}

} // namespace

BOOST_AUTO_TEST_CASE(a_filesystem_of_the_kernels_own_is_not_served)
{
    for (const char *type : {"overlay", "ext4", "xfs", "btrfs", "tmpfs", "proc", "sysfs", "cgroup2", "devpts",
                             "mqueue", "nsfs", "fusectl", "autofs"})
        BOOST_TEST(served_in(line_of(type)).empty(), type);
}

BOOST_AUTO_TEST_CASE(one_that_a_process_or_another_machine_serves_is_named_with_its_place)
{
    for (const std::string type : {"fuse", "fuse.sshfs", "fuseblk", "virtiofs", "nfs", "nfs4", "cifs", "smb3",
                                   "9p", "ceph", "afs", "lustre", "gpfs", "beegfs"})
        BOOST_TEST((served_in(line_of(type)) == std::vector<std::string>{type + " at /x"}), type);
    BOOST_TEST((served_in(line_of("tmpfs") + line_of("fuse.a\\040b", "/m\\040n") + line_of("nfs", "/o")) ==
                std::vector<std::string>{"fuse.a b at /m n", "nfs at /o"}));
}

BOOST_AUTO_TEST_CASE(a_type_that_is_not_known_counts_as_served)
{
    BOOST_TEST((served_in(line_of("ext5")) == std::vector<std::string>{"ext5 at /x"}));
}

BOOST_AUTO_TEST_CASE(what_is_called_like_a_type_is_none)
{
    BOOST_TEST(served_in("92 91 0:44 /nfs /fuse rw - tmpfs nfs rw,fuse\n").empty());
}

BOOST_AUTO_TEST_CASE(it_is_said_which_may_be_at_fault)
{
    const auto names = [](const std::vector<TypedMount> &served, const std::string &rootfs) {
        const std::string text = blame(served, rootfs);
        const size_t begin = text.find(": ") + 2;
        return text.substr(begin, text.find(". See to those") - begin);
    };
    BOOST_TEST(names({{"/b/rootfs/opt", "fuse.x"}, {"/home", "nfs"}}, "/b/rootfs") == "'/opt' (fuse.x)");
    BOOST_TEST(names({{"/b/rootfs2", "fuse.x"}, {"/home", "nfs"}}, "/b/rootfs") ==
               "'/b/rootfs2' (fuse.x), '/home' (nfs)");
    BOOST_TEST(names({{"/b", "a"}, {"/b/1", "a"}, {"/b/2", "a"}, {"/b/3", "a"}, {"/b/4", "a"}}, "/b") ==
               "'/' (a), '/1' (a), '/2' (a), '/3' (a), and 1 more");
    BOOST_TEST(names({{"/home", "nfs"}}, "") == "'/home' (nfs)");
}

BOOST_AUTO_TEST_SUITE_END()
