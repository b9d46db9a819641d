// SPDX-License-Identifier: Apache-2.0
//
// A tmpfs over a directory of the container's /proc.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "base/file.h"
#include "base/unique_fd.h"
#include "container/commit.h"
#include "sandbox.h"

BOOST_AUTO_TEST_SUITE(proc_covers)

using namespace ogh;
using namespace ogh::test;

namespace {

struct Cover : Sandbox {
    Cover()
    {
        directory("rootfs/proc");
        for (const char *name : {"one", "two"})
            file(std::string("src/gpus/") + name + "/information", name);
    }

    [[nodiscard]] Edits cover(const std::vector<std::string> &directories,
                              const std::string &params = "params\n") const
    {
        Edits edits;
        edits.proc = TmpfsEdit{"/proc/driver/x", {{"version", "1\n"}, {"params", params}}};
        for (const std::string &name : directories)
            edits.proc->mounts.push_back({src("gpus/" + name), "/proc/driver/x/gpus/" + name});
        return edits;
    }

    /** A container whose /proc/driver/x is a tmpfs that the runtime has made. */
    void start_with_tmpfs(unsigned mapped_root = 0)
    {
        start({.set_up =
                   [](const std::string &root) {
                       make_mount("tmpfs", root + "/proc", "tmpfs");
                       check_call(::mkdir((root + "/proc/driver").c_str(), 0755), "mkdir");
                       check_call(::mkdir((root + "/proc/driver/x").c_str(), 0755), "mkdir");
                   },
               .mapped_root = mapped_root});
    }

    /** What a program of the container reads. */
    [[nodiscard]] std::string read(const std::string &name)
    {
        const auto work = [&] {
            const UniqueFd fd(::open(("/proc/driver/x/" + name).c_str(), O_RDONLY | O_CLOEXEC));
            check_call(fd.get(), "open");
            return read_all(fd.get(), 4096, "the file");
        };
        return container().inside(work).text;
    }

    void expect_one()
    {
        BOOST_TEST(read("version") == "1\n");
        BOOST_TEST(read("params") == "params\n");
        BOOST_TEST(read("gpus/one/information") == "one");
        BOOST_TEST(read("gpus/two/information") == "open: No such file or directory");
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(the_container_sees_our_files_and_its_own_directories, Cover)
{
    start_with_tmpfs();
    BOOST_TEST(done(commit(cover({"one"}))));
    expect_one();
    const Mounts added = container().added();
    BOOST_REQUIRE(added.size() == 2U);
    for (const Mount &mount : added)
        BOOST_TEST((mount.has("ro") && mount.has("nosuid") && mount.has("nodev")), mount);
    BOOST_TEST(read("../x/gpus") == "cannot read the file: Is a directory");
}

BOOST_FIXTURE_TEST_CASE(it_covers_what_is_there_in_a_user_namespace_too, Cover)
{
    start_with_tmpfs(100000);
    BOOST_TEST(done(commit(cover({"one"}))));
    expect_one();
}

BOOST_FIXTURE_TEST_CASE(procfs_itself_is_covered, Cover)
{
    start({.set_up = [](const std::string &root) { make_mount("proc", root + "/proc", "proc"); }});
    Edits edits = cover({"one"});
    edits.proc->container_path = "/proc/driver";
    edits.proc->mounts[0].container_path = "/proc/driver/gpus/one";
    BOOST_TEST(done(commit(edits)));
    BOOST_TEST(container().added().size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(where_there_is_no_such_directory_nothing_is_done, Cover)
{
    start();
    const Outcome outcome = commit(cover({"one"}));
    BOOST_TEST(done(outcome));
    BOOST_TEST(outcome.text.find("nothing of it is to be covered") != std::string::npos, outcome);
    BOOST_TEST(container().added() == Mounts(), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_directory_of_the_image_is_no_proc, Cover)
{
    directory("rootfs/proc/driver/x");
    start();
    BOOST_TEST(refused(commit(cover({"one"})), "neither on procfs nor on a tmpfs"));
}

BOOST_FIXTURE_TEST_CASE(a_link_to_a_directory_of_the_image_is_no_proc, Cover)
{
    directory("rootfs/elsewhere/x");
    link("rootfs/proc/driver", "/elsewhere");
    start();
    BOOST_TEST(refused(commit(cover({"one"})), "neither on procfs nor on a tmpfs"));
}

BOOST_FIXTURE_TEST_CASE(a_tmpfs_of_the_host_is_no_proc, Cover)
{
    directory("volume");
    make_mount("tmpfs", path("volume"), "tmpfs");
    directory("volume/x");
    directory("rootfs/proc/driver");
    start({.set_up = [this](const std::string &root) {
        make_mount(path("volume"), root + "/proc/driver", "", MS_BIND);
    }});
    BOOST_TEST(refused(commit(cover({"one"})), "neither on procfs nor on a tmpfs"));
}

BOOST_FIXTURE_TEST_CASE(a_second_run_changes_nothing, Cover)
{
    start_with_tmpfs();
    BOOST_TEST(done(commit(cover({"one"}))));
    const Mounts first = container().added();
    BOOST_TEST(done(commit(cover({"one"}))));
    BOOST_TEST(container().added() == first, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_second_request_adds_to_the_first, Cover)
{
    for (const unsigned root : {0U, 100000U}) {
        start_with_tmpfs(root);
        BOOST_TEST(done(commit(cover({"one"}))));
        BOOST_TEST(done(commit(cover({"two"}))));
        BOOST_TEST(read("gpus/one/information") == "one");
        BOOST_TEST(read("gpus/two/information") == "two");
        const Mounts added = container().added();
        BOOST_REQUIRE(added.size() == 3U);
        for (const Mount &mount : added)
            BOOST_TEST(mount.has("ro"), mount);
    }
}

BOOST_FIXTURE_TEST_CASE(what_was_unmounted_meanwhile_is_mounted_again, Cover)
{
    start_with_tmpfs();
    BOOST_TEST(done(commit(cover({"one", "two"}))));
    const Mounts first = container().added();
    const auto unmount = [] {
        check_call(::umount2("/proc/driver/x/gpus/two", MNT_DETACH), "umount");
        return std::string();
    };
    BOOST_TEST(container().inside(unmount) == Outcome{});
    BOOST_TEST(done(commit(cover({"one", "two"}))));
    BOOST_TEST(read("gpus/two/information") == "two");
    BOOST_TEST(container().added().size() == first.size());
}

BOOST_FIXTURE_TEST_CASE(a_rootfs_that_is_named_through_a_symlink_is_known_again, Cover)
{
    link("named", "rootfs");
    start_with_tmpfs();
    const auto through_link = [&](const Edits &edits) {
        return in_child([&] {
            ContainerView view({container().pid(), path("named")});
            Progress progress;
            ogh::commit(edits, std::move(view), progress);
            return std::string();
        });
    };
    BOOST_TEST(done(through_link(cover({"one"}))));
    const Mounts first = container().added();
    BOOST_TEST(done(through_link(cover({"one"}))));
    BOOST_TEST(container().added() == first, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_tmpfs_that_only_looks_like_ours_is_covered, Cover)
{
    // By its source and its files; but one of them says something else.
    start({.set_up = [](const std::string &root) {
        make_mount("tmpfs", root + "/proc", "tmpfs");
        check_call(::mkdir((root + "/proc/driver").c_str(), 0755), "mkdir");
        check_call(::mkdir((root + "/proc/driver/x").c_str(), 0755), "mkdir");
        make_mount("oci-gpu-hooks", root + "/proc/driver/x", "tmpfs");
        for (const auto &[name, content] : {std::pair{"version", "1\n"}, std::pair{"params", "PARAMS\n"}}) {
            const UniqueFd fd(
                ::open((root + "/proc/driver/x/" + name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
            write_all(fd.get(), content, name);
        }
    }});
    BOOST_TEST(done(commit(cover({"one"}))));
    expect_one();
}

BOOST_FIXTURE_TEST_CASE(after_a_failure_nothing_is_mounted, Cover)
{
    start_with_tmpfs();
    Edits edits = cover({"one"});
    edits.files.push_back({"/proc/driver/x/version", "mine", FileEdit::How::Replace});
    BOOST_TEST(!done(commit(edits)));
    BOOST_TEST(container().added() == Mounts(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
