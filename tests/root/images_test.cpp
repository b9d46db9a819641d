// SPDX-License-Identifier: Apache-2.0
//
// What an image, or the mounts of a container, may have at the place of a target.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <linux/fs.h>

#include <array>
#include <functional>
#include <ostream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "base/unique_fd.h"
#include "sandbox.h"

BOOST_AUTO_TEST_SUITE(images)

using namespace ogh;
using namespace ogh::test;
namespace data = boost::unit_test::data;

namespace {

/** Something that is neither directory nor plain file. */
struct Special {
    const char *name;
    mode_t type;
    dev_t device;

    void make(const std::string &path) const
    {
        check_call(::mknod(path.c_str(), type | 0666U, device), std::string("mknod ") + name);
    }

    friend std::ostream &operator<<(std::ostream &out, const Special &special) { return out << special.name; }
};

const auto specials = std::to_array<Special>({
    {"a FIFO", S_IFIFO, 0},
    {"a socket", S_IFSOCK, 0},
    {"a character device", S_IFCHR, makedev(1, 3)},
    {"a terminal", S_IFCHR, makedev(5, 0)},
    {"a block device", S_IFBLK, makedev(7, 0)},
});

/** A directory in which nothing can be made, even by root, as long as this lives. */
class Immutable final {
public:
    explicit Immutable(const std::string &path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC))
    {
        set(FS_IMMUTABLE_FL);
    }
    Immutable(const Immutable &) = delete;
    Immutable &operator=(const Immutable &) = delete;
    ~Immutable()
    {
        const int flags = 0;
        static_cast<void>(::ioctl(fd_.get(), FS_IOC_SETFLAGS, &flags));
    }

private:
    void set(int flags) const
    {
        check_call(::ioctl(fd_.get(), FS_IOC_SETFLAGS, &flags),
                   "immutable (the temporary directory has to lie on ext4)");
    }

    UniqueFd fd_;
};

struct Image : Sandbox {
    Image() { directory("rootfs/srv"); }

    void expect_refused(const Edits &edits, const std::string &words)
    {
        const Lines before = image();
        BOOST_TEST(refused(commit(edits), words));
        BOOST_TEST(places() == Lines(), boost::test_tools::per_element());
        BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
    }

    void expect_mounted(const Edits &edits, const std::string &place)
    {
        BOOST_TEST(done(commit(edits)));
        BOOST_TEST(places() == Lines{place}, boost::test_tools::per_element());
    }
};

Creation with_mount(const std::string &type, const std::string &place)
{
    return {.set_up = [=](const std::string &rootfs) { make_mount(type, rootfs + place, type); }};
}

void make_read_only(const std::string &rootfs)
{
    change_mount(rootfs, MS_REMOUNT | MS_BIND | MS_RDONLY);
}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_file_where_a_directory_is_needed_is_refused, Image)
{
    file("rootfs/srv/x", "the image's");
    start();
    expect_refused(data_at({"/srv/x"}), "cannot mount on '/srv/x' in the container: it is no directory");
}

BOOST_FIXTURE_TEST_CASE(a_directory_where_a_file_is_needed_is_refused, Image)
{
    directory("rootfs/srv/x");
    start();
    expect_refused(list_at("/srv/x"), "cannot mount on '/srv/x' in the container: it is no plain file");
}

BOOST_FIXTURE_TEST_CASE(a_file_on_the_way_is_refused, Image)
{
    file("rootfs/opt", "the image's");
    start();
    expect_refused(data_at({"/opt/x"}), "cannot mount on '/opt' in the container: it is no directory");
    expect_refused(data_at({"/opt/deeper/x"}), "'/opt/deeper'");
}

BOOST_DATA_TEST_CASE_F(Image, a_special_file_is_refused_and_never_opened, data::make(specials), special)
{
    special.make(rootfs("srv/x"));
    special.make(rootfs("way"));
    start();
    expect_refused(data_at({"/srv/x"}), "it is no directory");
    expect_refused(list_at("/srv/x"), "it is no plain file");
    expect_refused(data_at({"/way/x"}), "it is no directory");
}

BOOST_FIXTURE_TEST_CASE(a_setuid_file_is_covered_and_stays_as_it_was, Image)
{
    file("rootfs/srv/x", "program");
    check_call(::chmod(rootfs("srv/x").c_str(), 06755), "chmod");
    const Lines before = image();
    start();
    expect_mounted(list_at("/srv/x"), "/srv/x");
    BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(what_the_image_has_at_the_place_is_covered_and_stays, Image)
{
    file("rootfs/srv/x/theirs", "the image's");
    const Lines before = image();
    start();
    expect_mounted(data_at({"/srv/x"}), "/srv/x");
    BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(permissions_of_the_image_do_not_matter, Image)
{
    check_call(::chown(rootfs("srv").c_str(), 1000, 1000), "chown");
    check_call(::chmod(rootfs("srv").c_str(), 0), "chmod");
    start();
    expect_mounted(data_at({"/srv/x"}), "/srv/x");
}

BOOST_FIXTURE_TEST_CASE(in_an_immutable_directory_nothing_is_made_but_what_exists_is_used, Image)
{
    directory("rootfs/srv/x");
    start();
    const Immutable directory(rootfs("srv"));
    expect_refused(data_at({"/srv/y"}), "cannot make '/srv/y' in the container: Operation not permitted");
    expect_mounted(data_at({"/srv/x"}), "/srv/x");
}

BOOST_FIXTURE_TEST_CASE(in_a_read_only_root_nothing_is_made_but_what_exists_is_used, Image)
{
    directory("rootfs/srv/x");
    start({.set_up = make_read_only});
    expect_refused(
        data_at({"/srv/y"}),
        "cannot make '/srv/y' in the container: its filesystem is read-only; make it in the image");
    expect_refused(data_at({"/new/y"}),
                   "cannot make '/new' in the container: its filesystem is read-only; make it in the image");
    expect_mounted(data_at({"/srv/x"}), "/srv/x");
}

BOOST_FIXTURE_TEST_CASE(a_mount_point_is_mounted_over, Image)
{
    directory("rootfs/srv/x");
    start(with_mount("tmpfs", "/srv/x"));
    expect_mounted(data_at({"/srv/x"}), "/srv/x");
    BOOST_TEST((container().inside([] { return snapshot("/srv/x").back(); }).text.find("/sub") !=
                std::string::npos));
}

BOOST_FIXTURE_TEST_CASE(a_file_that_is_a_mount_point_is_mounted_over, Image)
{
    file("rootfs/srv/x");
    file("theirs", "of another volume");
    start({.set_up = [&](const std::string &rootfs) {
        make_mount(path("theirs"), rootfs + "/srv/x", "", MS_BIND);
    }});
    expect_mounted(list_at("/srv/x"), "/srv/x");
}

BOOST_DATA_TEST_CASE_F(Image, on_a_kernel_interface_nothing_is_mounted, data::make({"proc", "sysfs"}), type)
{
    directory("rootfs/kernel");
    link("rootfs/srv/x", std::string(type) == "proc" ? "/kernel/sys" : "/kernel/kernel");
    link("rootfs/srv/list", std::string(type) == "proc" ? "/kernel/version" : "/kernel/kernel/uevent_seqnum");
    start(with_mount(type, "/kernel"));
    expect_refused(data_at({"/srv/x"}), "it lies on procfs, sysfs or another interface of the kernel");
    expect_refused(data_at({"/kernel"}), "it lies on procfs, sysfs or another interface of the kernel");
    expect_refused(list_at("/srv/list"), "it lies on procfs, sysfs or another interface of the kernel");
    expect_refused(data_at({"/kernel/new"}), "cannot make '/kernel/new' in the container");
}

BOOST_FIXTURE_TEST_CASE(a_file_of_procfs_bound_elsewhere_is_no_target, Image)
{
    file("rootfs/srv/x");
    start({.set_up = [](const std::string &rootfs) {
        make_mount("/proc/version", rootfs + "/srv/x", "", MS_BIND);
    }});
    expect_refused(list_at("/srv/x"), "it lies on procfs, sysfs or another interface of the kernel");
}

BOOST_FIXTURE_TEST_CASE(a_plain_directory_called_proc_is_a_directory_like_any_other, Image)
{
    directory("rootfs/proc/x");
    start();
    expect_mounted(data_at({"/proc/x"}), "/proc/x");
}

BOOST_FIXTURE_TEST_CASE(an_overlay_is_a_root_like_any_other, Image)
{
    for (const char *name : {"lower/srv/x", "upper", "work"})
        directory(name);
    const std::string options =
        "lowerdir=" + path("lower") + ",upperdir=" + path("upper") + ",workdir=" + path("work");
    check_call(::mount("overlay", rootfs().c_str(), "overlay", 0, options.c_str()), "overlay");
    start();
    BOOST_TEST(done(commit(data_at({"/srv/x", "/srv/y", "/opt/z"}))));
    BOOST_TEST(places() == (Lines{"/srv/x", "/srv/y", "/opt/z"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(an_image_without_anything_gets_what_is_needed, Sandbox)
{
    start();
    BOOST_TEST(done(commit(data_at({"/srv/x"}))));
    BOOST_TEST(done(commit(list_at("/srv/list"))));
    BOOST_TEST(places() == (Lines{"/srv/x", "/srv/list"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
