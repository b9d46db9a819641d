// SPDX-License-Identifier: Apache-2.0
//
// A container with a user namespace: its root has CAP_SYS_ADMIN there, and tries to undo what it was given.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "sandbox.h"
#include "seccomp.h"
#include "stepped.h"

BOOST_AUTO_TEST_SUITE(user_namespaces)

using namespace ogh;
using namespace ogh::test;
namespace data = boost::unit_test::data;

namespace {

constexpr unsigned mapped = 100000;

/** `src/data` has a tmpfs below it, which covers a file that nobody in the container is to see. */
struct Mapped : Sandbox {
    Mapped()
    {
        file("src/data/memory/covered", "below the tmpfs");
        make_mount("tmpfs", src("data/memory"), "tmpfs");
        file("src/data/memory/file", "in the tmpfs");
        directory("rootfs/srv");
        directory("rootfs/mnt");
        check_call(::chown(rootfs().c_str(), mapped, mapped), "chown");
        check_call(::chown(rootfs("srv").c_str(), mapped, mapped), "chown");
    }

    void start_mapped(const std::function<void(const std::string &)> &set_up = {})
    {
        start({.set_up = set_up, .mapped_root = mapped});
    }

    /** What a call by the container's root returned: "" or the text of errno. */
    [[nodiscard]] std::string inside(const std::function<long()> &call)
    {
        const Outcome outcome = container().inside([&] {
            check_call(call(), "call");
            return std::string();
        });
        return outcome.text.starts_with("call: ") ? outcome.text.substr(6) : outcome.text;
    }

    [[nodiscard]] std::string owner_inside(const std::string &path)
    {
        const Outcome outcome = container().inside([&] {
            struct stat status {};
            check_call(::lstat(path.c_str(), &status), path);
            return std::to_string(status.st_uid) + ":" + std::to_string(status.st_gid);
        });
        return outcome.text;
    }

    /** Mode, owner and group of something in the image, as the host sees it. */
    [[nodiscard]] std::string made(const std::string &name) const
    {
        struct stat status {};
        check_call(::lstat(rootfs(name).c_str(), &status), name);
        std::ostringstream text;
        text << std::oct << (status.st_mode & 07777U) << std::dec << " " << status.st_uid << ":"
             << status.st_gid;
        return text.str();
    }

    [[nodiscard]] Edits idmapped(const std::string &place) const
    {
        Edits edits = data_at({place}, false);
        edits.mounts.front().idmap = true;
        return edits;
    }
};

long clear_attribute(const std::string &path, unsigned attribute)
{
    mount_attr attr{};
    attr.attr_clr = attribute;
    return ::mount_setattr(AT_FDCWD, path.c_str(), 0, &attr, sizeof attr);
}

constexpr auto attributes = std::to_array<unsigned>({MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV});
const auto mounts = std::to_array<const char *>({"/srv/data", "/srv/data/memory"});

} // namespace

BOOST_DATA_TEST_CASE_F(Mapped, its_root_cannot_take_the_attributes_away, data::make(mounts), path)
{
    start_mapped();
    BOOST_TEST(done(commit(data_at({"/srv/data"}))));
    for (const unsigned attribute : attributes)
        BOOST_TEST(inside([&] { return clear_attribute(path, attribute); }) == "Operation not permitted");
    BOOST_TEST(inside([&] { return ::mount(nullptr, path, nullptr, MS_REMOUNT | MS_BIND, nullptr); }) ==
               "Operation not permitted");
    for (const Mount &mount : container().added())
        BOOST_TEST((mount.has("ro") && mount.has("nosuid") && mount.has("nodev")), mount);
}

BOOST_FIXTURE_TEST_CASE(its_root_cannot_uncover_what_lies_below_a_mount, Mapped)
{
    start_mapped();
    BOOST_TEST(done(commit(data_at({"/srv/data"}))));
    BOOST_TEST(inside([] { return ::umount2("/srv/data/memory", MNT_DETACH); }) == "Invalid argument");
    BOOST_TEST(inside([] { return ::mount("/srv/data", "/mnt", nullptr, MS_BIND, nullptr); }) ==
               "Invalid argument");
    BOOST_TEST(inside([] { return ::open_tree(AT_FDCWD, "/srv/data", OPEN_TREE_CLONE); }) ==
               "Invalid argument");
    BOOST_TEST(inside([] { return ::open("/srv/data/memory/covered", O_RDONLY); }) ==
               "No such file or directory");
    BOOST_TEST(inside([] { return ::open("/srv/data/memory/file", O_RDONLY); }).empty());
}

BOOST_FIXTURE_TEST_CASE(what_is_made_belongs_to_its_root, Mapped)
{
    start_mapped();
    BOOST_TEST(done(commit(data_at({"/srv/x", "/new/y"}))));
    BOOST_TEST(done(commit(list_at("/srv/list"))));
    for (const char *name : {"srv/x", "new", "new/y", "srv/list"}) {
        struct stat status {};
        check_call(::lstat(rootfs(name).c_str(), &status), name);
        BOOST_TEST(status.st_uid == mapped, name);
        BOOST_TEST(status.st_gid == mapped, name);
        BOOST_TEST((status.st_mode & 07777U) == (S_ISDIR(status.st_mode) ? 0755U : 0644U), name);
    }
}

BOOST_FIXTURE_TEST_CASE(in_a_directory_of_another_owner_it_belongs_to_its_root_as_well, Mapped)
{
    check_call(::chown(rootfs("srv").c_str(), 0, 0), "chown"); // no number of the container
    start_mapped();
    Edits edits = data_at({"/srv/x"});
    edits.files = {{"/srv/conf", "text"}};
    edits.links = {{"/srv/link", "x"}};
    BOOST_TEST(done(commit(edits)));
    BOOST_TEST(made("srv/x") == "755 100000:100000");
    BOOST_TEST(made("srv/conf") == "644 100000:100000");
    BOOST_TEST(made("srv/link") == "777 100000:100000");
}

BOOST_FIXTURE_TEST_CASE(a_file_that_takes_a_written_ones_name_is_not_given_away, Mapped)
{
    check_call(::chown(rootfs("srv").c_str(), 0, 0), "chown");
    file("rootfs/srv/victim", "root's");
    start_mapped();
    int given = 0;
    const auto before = [&](const Step &at) {
        if (at.number != SYS_fchownat)
            return;
        for (const auto &entry : std::filesystem::directory_iterator(rootfs("srv"))) {
            if (entry.path().filename() == "victim" ||
                ::link(rootfs("srv/victim").c_str(), rootfs("other").c_str()) != 0)
                continue;
            check_call(::rename(rootfs("other").c_str(), entry.path().c_str()), "rename");
            ++given;
        }
    };
    static_cast<void>(in_stepped_child(committing({.files = {{"/srv/conf", "text"}}}, container().pid()),
                                       SYS_setns, before));
    BOOST_TEST(given == 1);
    BOOST_TEST(made("srv/victim").ends_with(" 0:0"));
}

BOOST_FIXTURE_TEST_CASE(what_cannot_be_given_to_its_root_is_not_left_behind, Mapped)
{
    check_call(::chown(rootfs("srv").c_str(), 0, 0), "chown");
    start_mapped();
    const Lines before = image();
    Edits edits;
    edits.links = {{"/srv/link", "x"}};
    const Outcome outcome = commit(edits, {.first = [] { refuse_call(SYS_fchownat, EPERM); }});
    BOOST_TEST(outcome.text.find("cannot give '/srv/link' to the container's root") != std::string::npos,
               outcome);
    BOOST_TEST(image() == before, boost::test_tools::per_element());
    edits = {};
    edits.files = {{"/srv/conf", "text"}};
    BOOST_TEST(refused(commit(edits, {.first = [] { refuse_call(SYS_fchownat, EPERM); }}),
                       "cannot give '/srv/conf' to the container's root"));
    BOOST_TEST(image() == before, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_setgid_directory_does_not_pass_its_bit_on, Mapped)
{
    check_call(::chmod(rootfs("srv").c_str(), 03777), "chmod");
    start_mapped();
    BOOST_TEST(done(commit(data_at({"/srv/x"}))));
    BOOST_TEST(made("srv/x") == "755 100000:100000");
}

BOOST_FIXTURE_TEST_CASE(a_tmpfs_of_the_container_is_part_of_its_root, Mapped)
{
    start_mapped([](const std::string &rootfs) { make_mount("tmpfs", rootfs + "/srv", "tmpfs"); });
    BOOST_TEST(done(commit(data_at({"/srv/x", "/srv/deep/y"}))));
    BOOST_TEST(owner_inside("/srv/deep") == "0:0");
    BOOST_TEST(snapshot(rootfs("srv")).size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(in_a_volume_nothing_is_made, Mapped)
{
    start_mapped(
        [&](const std::string &rootfs) { make_mount(outside(), rootfs + "/srv", "", MS_BIND | MS_REC); });
    BOOST_TEST(refused(commit(data_at({"/srv/x"})), "it would lie in a volume ('/srv')"));
    BOOST_TEST(places() == Lines(), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(after_a_failure_nothing_is_left, Mapped)
{
    file("rootfs/srv/c", "in the way");
    start_mapped();
    const Lines before = image();
    BOOST_TEST(refused(commit(data_at({"/srv/a", "/new/b", "/srv/c"})), "it is no directory"));
    BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
    BOOST_TEST(places() == Lines(), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_second_run_changes_nothing, Mapped)
{
    start_mapped();
    Edits edits = idmapped("/srv/out_rw");
    edits.mounts.push_back(list_at("/srv/list").mounts.front());
    make_mount(src("data"), src("data"), "", MS_BIND); // without the tmpfs, which not every kernel can map
    BOOST_TEST(done(commit(edits)));
    const Mounts first = container().added();
    BOOST_TEST(first.size() == 2U);
    BOOST_TEST(done(commit(edits)));
    BOOST_TEST(container().added() == first, boost::test_tools::per_element());
    check_call(::umount2(src("data").c_str(), 0), "umount");
}

BOOST_FIXTURE_TEST_CASE(what_it_cannot_write_is_told, Mapped)
{
    start_mapped();
    const Outcome outcome = commit(data_at({"/srv/out_rw"}, false));
    BOOST_TEST(done(outcome));
    BOOST_TEST(outcome.text.find("'/srv/out_rw' is mounted writable, but") != std::string::npos, outcome);
    BOOST_TEST(inside([] { return ::creat("/srv/out_rw/new", 0644); }) == "Permission denied");
}

BOOST_FIXTURE_TEST_CASE(mapped_owners_are_its_own_and_it_can_write, Mapped)
{
    make_mount(src("data"), src("data"), "", MS_BIND);
    start_mapped();
    sources_may_change();
    BOOST_TEST(done(commit(idmapped("/srv/out_rw"))));
    BOOST_TEST(owner_inside("/srv/out_rw/file") == "0:0");
    BOOST_TEST(inside([] { return ::creat("/srv/out_rw/new", 0644); }).empty());
    struct stat status {};
    check_call(::lstat(src("data/new").c_str(), &status), "lstat");
    BOOST_TEST(status.st_uid == 0U); // on the host
    BOOST_TEST(inside([] { return clear_attribute("/srv/out_rw", MOUNT_ATTR_NODEV); }) ==
               "Operation not permitted");
}

BOOST_FIXTURE_TEST_CASE(a_hundred_directories_are_locked_at_once, Mapped)
{
    start_mapped();
    std::vector<std::string> names;
    names.reserve(100);
    for (int i = 0; i < 100; ++i)
        names.push_back("/srv/" + std::to_string(i));
    BOOST_TEST(done(commit(data_at(names))));
    BOOST_TEST(container().added().size() == 200U);
    BOOST_TEST(inside([] { return clear_attribute("/srv/99", MOUNT_ATTR_RDONLY); }) ==
               "Operation not permitted");
}

BOOST_AUTO_TEST_SUITE_END()
