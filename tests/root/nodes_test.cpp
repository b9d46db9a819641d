// SPDX-License-Identifier: Apache-2.0
//
// Device nodes and symlinks that a container gets, whatever has their names.
#include <grp.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "container/device_node.h"
#include "kernel/inode.h"
#include "kernel/process.h"
#include "sandbox.h"

BOOST_AUTO_TEST_SUITE(nodes)

using namespace ogh;
using namespace ogh::test;
namespace data = boost::unit_test::data;

namespace {

constexpr unsigned no_driver = 511; // a major number; nothing is opened here

struct Devices : Sandbox {
    Devices() { directory("rootfs/dev"); }

    [[nodiscard]] NodeEdit node(const std::string &name, unsigned minor_number) const
    {
        return {"/dev/" + name, path("hostdev") + "/" + name, no_driver, minor_number};
    }

    [[nodiscard]] Edits nodes(const std::vector<NodeEdit> &nodes) const
    {
        Edits edits;
        edits.nodes = nodes;
        return edits;
    }

    [[nodiscard]] Edits one() const { return nodes({node("gpu", 3)}); }

    [[nodiscard]] Outcome give(const Edits &edits, const std::function<void()> &first = {}) const
    {
        Conditions conditions{.first = first};
        conditions.capabilities.push_back(CAP_MKNOD);
        return commit(edits, conditions);
    }

    void make_node(const std::string &name, unsigned minor_number, mode_t mode = S_IFCHR | 0666) const
    {
        check_call(::mknod(path(name).c_str(), mode, makedev(no_driver, minor_number)), "mknod");
        if ((mode & S_IFMT) != S_IFREG)
            check_call(::chmod(path(name).c_str(), mode & 07777U), "chmod");
    }

    /** A character device of another number, or something else with the right one. */
    void make_other(const std::string &name, mode_t mode) const
    {
        make_node(name, S_ISCHR(mode) ? 4 : 3, mode);
    }

    /** Type and mode, number of the device, and owner, as the host sees it. */
    [[nodiscard]] std::string made(const std::string &name) const
    {
        struct stat status {};
        check_call(::lstat(rootfs(name).c_str(), &status), name);
        std::ostringstream text;
        text << std::oct << status.st_mode << std::dec << " " << major(status.st_rdev) << ":"
             << minor(status.st_rdev) << " " << status.st_uid << ":" << status.st_gid;
        return text.str();
    }

    [[nodiscard]] ino_t inode(const std::string &name) const
    {
        struct stat status {};
        check_call(::lstat(rootfs(name).c_str(), &status), name);
        return status.st_ino;
    }

    void expect_replaced()
    {
        start();
        BOOST_TEST(done(give(one())));
        BOOST_TEST(made("dev/gpu") == as_planned);
    }

    const char *const as_planned = "20666 511:3 0:0";
};

const auto umasks = data::make({0, 022, 077, 0777});

} // namespace

BOOST_DATA_TEST_CASE_F(Devices, number_mode_and_owner_are_as_planned_whatever_the_umask, umasks, mask)
{
    start();
    BOOST_TEST(done(give(nodes({node("gpu", 3), node("dri/card1", 1)}),
                         [mask = mask] { ::umask(static_cast<mode_t>(mask)); })));
    BOOST_TEST(made("dev/gpu") == as_planned);
    BOOST_TEST(made("dev/dri/card1") == "20666 511:1 0:0");
    BOOST_TEST(made("dev/dri") == "40755 0:0 0:0");
}

BOOST_FIXTURE_TEST_CASE(a_node_that_is_right_stays, Devices)
{
    make_node("rootfs/dev/gpu", 3);
    start();
    const ino_t before = inode("dev/gpu");
    BOOST_TEST(done(give(one())));
    BOOST_TEST(inode("dev/gpu") == before);
}

BOOST_DATA_TEST_CASE_F(Devices, anything_else_of_that_name_is_replaced,
                       data::make({S_IFCHR | 0666, S_IFBLK | 0666, S_IFIFO | 0666, S_IFSOCK | 0666,
                                   S_IFREG | 04755}),
                       mode)
{
    make_other("rootfs/dev/gpu", static_cast<mode_t>(mode));
    expect_replaced();
}

BOOST_FIXTURE_TEST_CASE(a_node_that_is_not_for_everyone_is_replaced, Devices)
{
    make_node("rootfs/dev/gpu", 3, S_IFCHR | 0660);
    expect_replaced();
}

BOOST_DATA_TEST_CASE_F(Devices, a_symlink_of_that_name_is_replaced_and_not_followed,
                       data::make({"outside", "/etc/passwd", "nowhere", "gpu"}), target)
{
    file("rootfs/etc/passwd", "root");
    link("rootfs/dev/gpu", std::string(target) == "outside" ? outside("file") : std::string(target));
    expect_replaced();
    BOOST_TEST((::access(outside("file").c_str(), F_OK) != 0));
}

BOOST_FIXTURE_TEST_CASE(a_directory_of_that_name_is_refused_and_what_was_made_before_is_gone, Devices)
{
    directory("rootfs/dev/gpu");
    start();
    const Lines before = image();
    BOOST_TEST(refused(give(nodes({node("first", 1), node("deep/second", 2), node("gpu", 3)})),
                       "a directory has that name"));
    BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(what_is_mounted_there_is_not_replaced, Devices)
{
    make_node("rootfs/dev/gpu", 4);
    start({.set_up = [](const std::string &root) {
        make_mount(root + "/dev/gpu", root + "/dev/gpu", "", MS_BIND);
    }});
    BOOST_TEST(refused(give(one()), "something else is mounted there"));
}

BOOST_DATA_TEST_CASE_F(Devices, a_right_node_that_is_mounted_there_will_do_if_it_is_for_everyone,
                       data::make({0666, 0660}), mode)
{
    make_node("rootfs/dev/gpu", 3, S_IFCHR | static_cast<mode_t>(mode));
    start({.set_up = [](const std::string &root) {
        make_mount(root + "/dev/gpu", root + "/dev/gpu", "", MS_BIND);
    }});
    const Outcome outcome = give(one());
    if (mode == 0666)
        BOOST_TEST(done(outcome));
    else
        BOOST_TEST(
            refused(outcome, "cannot use '/dev/gpu' in the container: its mode is 0660 and must be 0666"));
}

BOOST_FIXTURE_TEST_CASE(in_a_user_namespace_a_node_that_is_not_for_everyone_is_mounted_over, Devices)
{
    make_node("rootfs/dev/gpu", 3, S_IFCHR | 0660);
    start({.set_up =
               [](const std::string &root) { make_mount(root + "/dev/gpu", root + "/dev/gpu", "", MS_BIND); },
           .mapped_root = 100000});
    BOOST_TEST(done(give(one())));
    BOOST_TEST(places() == Lines{"/dev/gpu"}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(in_a_directory_of_the_host_nothing_is_made, Devices)
{
    directory("volume");
    make_node("volume/gpu", 3);
    start({.set_up = [this](const std::string &root) {
        make_mount(path("volume"), root + "/dev", "", MS_BIND);
    }});
    const Lines before = snapshot(path("volume"));
    const Outcome outcome = give(one());
    BOOST_TEST(done(outcome));
    BOOST_TEST(outcome.text.find("the container's /dev is the host's") != std::string::npos, outcome);
    BOOST_TEST(refused(give(nodes({node("other", 4)})), "in a volume"));
    BOOST_TEST(refused(give(nodes({node("gpu", 4)})), "in a volume"));
    BOOST_TEST(snapshot(path("volume")) == before, boost::test_tools::per_element());
}

/** As in toolbox, on distributions whose nodes are for a group. */
BOOST_DATA_TEST_CASE_F(Devices, a_node_in_a_directory_of_the_host_that_is_not_for_everyone_is_said,
                       data::make({0U, 100000U}), mapped_root)
{
    directory("volume");
    make_node("volume/gpu", 3, S_IFCHR | 0660);
    start({.set_up =
               [this](const std::string &root) { make_mount(path("volume"), root + "/dev", "", MS_BIND); },
           .mapped_root = mapped_root});
    const Lines before = snapshot(path("volume"));
    BOOST_TEST(refused(give(one()),
                       "cannot use '/dev/gpu' in the container: its mode is 0660 and must be 0666; it "
                       "comes from the host or a volume, where nothing is changed: chmod it there"));
    BOOST_TEST(refused(give(nodes({node("gpu", 4)})), "in a volume")); // another device
    BOOST_TEST(snapshot(path("volume")) == before, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_directory_on_the_way_that_leads_out_stays_inside, Devices)
{
    link("rootfs/dev/dri", outside());
    start();
    BOOST_TEST(refused(give(nodes({node("dri/card0", 0)})), "leads nowhere"));
}

BOOST_DATA_TEST_CASE_F(Devices, a_node_of_the_host_that_is_another_one_is_refused,
                       data::make({S_IFCHR | 0666, S_IFBLK | 0666, S_IFREG | 0666, S_IFLNK | 0777,
                                   S_IFDIR | 0755}),
                       mode)
{
    directory("hostdev");
    if (S_ISLNK(mode))
        link("hostdev/gpu", "other");
    else if (S_ISDIR(mode))
        directory("hostdev/gpu");
    else
        make_other("hostdev/gpu", static_cast<mode_t>(mode));
    start();
    const Lines before = image();
    BOOST_TEST(refused(give(one()), "and not the character device 511:3", ErrorKind::BrokenHost));
    BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_right_node_of_the_host_need_not_be_for_everyone, Devices)
{
    directory("hostdev");
    make_node("hostdev/gpu", 3, S_IFCHR | 0600);
    expect_replaced();
}

BOOST_FIXTURE_TEST_CASE(in_a_user_namespace_nodes_are_mounted_once, Devices)
{
    start({.mapped_root = 100000});
    BOOST_TEST(done(give(one())));
    const Mounts first = container().added();
    BOOST_REQUIRE(first.size() == 1U);
    BOOST_TEST((first[0].has("nosuid") && !first[0].has("noexec") && !first[0].has("nodev")), first[0]);
    BOOST_TEST(done(give(one())));
    BOOST_TEST(container().added() == first, boost::test_tools::per_element());
    const auto look = [] {
        struct stat status {};
        check_call(::stat("/dev/gpu", &status), "stat");
        const bool right = S_ISCHR(status.st_mode) && status.st_rdev == makedev(no_driver, 3) &&
                           (status.st_mode & 0777U) == 0666;
        return std::string(right ? "right" : "wrong");
    };
    BOOST_TEST(container().inside(look).text == "right");
}

BOOST_FIXTURE_TEST_CASE(in_a_user_namespace_an_owner_without_a_number_there_is_its_root, Devices)
{
    start({.mapped_root = 100000}); // with 65536 ids
    NodeEdit mapped = node("mapped", 1);
    mapped.owner = {.uid = 1000, .gid = 1001};
    NodeEdit unmapped = node("unmapped", 2);
    unmapped.owner = {.uid = 70000, .gid = 70000};
    BOOST_TEST(done(give(nodes({mapped, unmapped}))));
    const auto look = [] {
        std::ostringstream text;
        for (const char *name : {"/dev/mapped", "/dev/unmapped"}) {
            struct stat status {};
            check_call(::stat(name, &status), name);
            text << status.st_uid << ":" << status.st_gid << " ";
        }
        return text.str();
    };
    BOOST_TEST(container().inside(look).text == "1000:1001 0:0 ");
}

BOOST_FIXTURE_TEST_CASE(in_a_user_namespace_a_node_of_the_image_is_not_trusted, Devices)
{
    make_node("rootfs/dev/gpu", 3);
    start({.mapped_root = 100000});
    BOOST_TEST(done(give(one())));
    BOOST_TEST(places() == Lines{"/dev/gpu"}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(in_a_user_namespace_what_cannot_be_mounted_on_is_refused, Devices)
{
    directory("rootfs/dev/gpu");
    start({.mapped_root = 100000});
    BOOST_TEST(refused(give(one()), "neither a plain file nor a device"));
}

BOOST_DATA_TEST_CASE_F(Devices, without_the_hosts_root_the_user_has_to_be_able_to_read_and_write,
                       data::make({0666, 0444, 0222, 0000}), mode)
{
    directory("hostdev");
    make_node("hostdev/gpu", 3, S_IFCHR | static_cast<mode_t>(mode));
    const Outcome outcome = in_child([&] {
        limit_capabilities({CAP_SYS_ADMIN}); // root without them is a user like any other
        return std::to_string(Inode::of(open_device_mount(node("gpu", 3), true).fd(), "it").mode & 0777U);
    });
    if (mode == 0666)
        BOOST_TEST(outcome == (Outcome{0, std::to_string(mode)}));
    else
        BOOST_TEST(refused(outcome, "this user may not open", ErrorKind::BrokenHost));
}

BOOST_DATA_TEST_CASE_F(Devices, without_the_hosts_root_a_group_counts_only_if_the_container_keeps_it,
                       data::make({true, false}), keeps_groups)
{
    constexpr gid_t group = 4711;
    directory("hostdev");
    make_node("hostdev/gpu", 3, S_IFCHR | 0660);
    check_call(::chown(path("hostdev/gpu").c_str(), 4712, group), "chown");
    const Outcome outcome = in_child([&] {
        check_call(::setgroups(1, &group), "setgroups");
        limit_capabilities({CAP_SYS_ADMIN});
        return std::to_string(Inode::of(open_device_mount(node("gpu", 3), keeps_groups).fd(), "it").mode &
                              0777U);
    });
    if (keeps_groups)
        BOOST_TEST(outcome == (Outcome{0, std::to_string(0660)}));
    else
        BOOST_TEST(refused(outcome, "this user may not open", ErrorKind::BrokenHost));
}

BOOST_FIXTURE_TEST_CASE(links_are_made_and_right_ones_stay, Devices)
{
    start();
    Edits edits;
    edits.links = {{"/dev/dri/by-path/a", "../card0"}};
    BOOST_TEST(done(give(edits)));
    const ino_t before = inode("dev/dri/by-path/a");
    BOOST_TEST(done(give(edits)));
    BOOST_TEST(inode("dev/dri/by-path/a") == before);
}

BOOST_DATA_TEST_CASE_F(Devices, what_has_the_name_of_a_link_is_replaced,
                       data::make({"../card", "../card00", "../card1", ""}), target)
{
    directory("rootfs/dev/dri/by-path");
    if (std::string(target).empty())
        file("rootfs/dev/dri/by-path/a", "of the image");
    else
        link("rootfs/dev/dri/by-path/a", target);
    start();
    Edits edits;
    edits.links = {{"/dev/dri/by-path/a", "../card0"}};
    BOOST_TEST(done(give(edits)));
    std::string seen(100, '\0');
    const auto size = ::readlink(rootfs("dev/dri/by-path/a").c_str(), seen.data(), seen.size());
    BOOST_TEST((size > 0 && seen.substr(0, static_cast<size_t>(size)) == "../card0"), seen);
}

BOOST_FIXTURE_TEST_CASE(after_a_failure_what_a_node_has_replaced_is_there_again, Devices)
{
    directory("rootfs/dev/dri/a");
    file("rootfs/dev/gpu", "of the image");
    start();
    Edits edits = one();
    edits.links = {{"/dev/dri/a", "../card0"}};
    BOOST_TEST(refused(give(edits), "a directory has that name"));
    BOOST_TEST(std::filesystem::is_regular_file(rootfs("dev/gpu")));
    BOOST_TEST(std::filesystem::file_size(rootfs("dev/gpu")) == std::string("of the image").size());
}

BOOST_FIXTURE_TEST_CASE(without_the_power_to_make_nodes_the_message_names_it, Devices)
{
    start();
    BOOST_TEST(refused(commit(one()), "CAP_MKNOD", ErrorKind::BrokenHost));
}

BOOST_FIXTURE_TEST_CASE(a_directory_that_has_the_name_of_a_link_is_refused_and_nodes_go_again, Devices)
{
    directory("rootfs/dev/dri/a");
    start();
    const Lines before = image();
    Edits edits = one();
    edits.links = {{"/dev/dri/a", "../card0"}};
    BOOST_TEST(refused(give(edits), "a directory has that name"));
    BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
