// SPDX-License-Identifier: Apache-2.0
//
// Files of this collection that take the name of a file of the image, or are mounted over it.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "base/unique_fd.h"
#include "sandbox.h"
#include "seccomp.h"

BOOST_AUTO_TEST_SUITE(files)

using namespace ogh;
using namespace ogh::test;
namespace data = boost::unit_test::data;
using How = FileEdit::How;

namespace {

const auto mapped_roots = std::to_array<unsigned>({0, 100000});

struct Image : Sandbox {
    Image() { file("rootfs/etc/old", "the image's"); }

    void start_mapped(unsigned mapped_root, const std::function<void(const std::string &)> &set_up = {})
    {
        std::error_code error;
        for (const auto &entry : std::filesystem::recursive_directory_iterator(rootfs()))
            check_call(::lchown(entry.path().c_str(), mapped_root, mapped_root), "chown");
        check_call(::lchown(rootfs().c_str(), mapped_root, mapped_root), "chown");
        start({.set_up = set_up, .mapped_root = mapped_root});
    }

    [[nodiscard]] static Edits file_at(const std::vector<std::string> &places, How how = How::Replace)
    {
        Edits edits;
        for (const std::string &place : places)
            edits.files.push_back({place, "ours, " + place, how});
        return edits;
    }

    [[nodiscard]] std::string text(const std::string &name) const
    {
        std::ostringstream text;
        text << std::ifstream(rootfs(name), std::ios::binary).rdbuf();
        return text.str();
    }

    /** What the container reads there. */
    [[nodiscard]] std::string seen(const std::string &path)
    {
        return container()
            .inside([&] {
                std::ostringstream text;
                text << std::ifstream(path, std::ios::binary).rdbuf();
                return text.str();
            })
            .text;
    }

    /** What errno says of a call in the container that is to be refused; "" if it is not. */
    [[nodiscard]] std::string inside(const std::function<long()> &call)
    {
        return container().inside([&] { return std::string(call() < 0 ? std::strerror(errno) : ""); }).text;
    }

    [[nodiscard]] std::string made(const std::string &name) const
    {
        struct stat status {};
        check_call(::lstat(rootfs(name).c_str(), &status), name);
        std::ostringstream text;
        text << std::oct << status.st_mode << std::dec << " " << status.st_uid << ":" << status.st_gid;
        return text.str();
    }

    void expect_refused(const Edits &edits, const std::string &words, const Conditions &conditions = {})
    {
        const Lines before = image();
        BOOST_TEST(refused(commit(edits, conditions), words));
        BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
        BOOST_TEST(places() == Lines(), boost::test_tools::per_element());
    }
};

} // namespace

BOOST_DATA_TEST_CASE_F(Image, a_file_is_made_or_replaced_whole, data::make(mapped_roots), mapped_root)
{
    start_mapped(mapped_root);
    const Conditions masked{.first = [] { ::umask(0077); }};
    BOOST_TEST(done(commit(file_at({"/etc/old", "/etc/new", "/made/deep/new"}), masked)));
    const std::string owner = std::to_string(mapped_root) + ":" + std::to_string(mapped_root);
    for (const char *name : {"etc/old", "etc/new", "made/deep/new"}) {
        BOOST_TEST(text(name) == std::string("ours, /") + name);
        BOOST_TEST(made(name) == "100644 " + owner, name);
    }
    BOOST_TEST(made("made/deep") == "40755 " + owner);
    BOOST_TEST(image().size() == 7U,
               "nothing else is left"); // the root, two directories of the edit, etc, three files
}

BOOST_FIXTURE_TEST_CASE(where_renames_know_no_flags_files_are_replaced_all_the_same, Image)
{
    start();
    const Conditions without_flags{
        .first = [] { refuse_call_with(SYS_renameat2, EINVAL, 4, RENAME_NOREPLACE); }};
    BOOST_TEST(done(commit(file_at({"/etc/old", "/etc/new"}), without_flags)));
    BOOST_TEST(text("etc/old") == "ours, /etc/old");
    BOOST_TEST(text("etc/new") == "ours, /etc/new");
}

BOOST_FIXTURE_TEST_CASE(of_one_that_cannot_be_written_whole_nothing_is_left, Image)
{
    start();
    const Conditions full{.first = [] {
        constexpr rlimit few{8, 8};
        check_call(::setrlimit(RLIMIT_FSIZE, &few), "setrlimit");
        ::signal(SIGXFSZ, SIG_IGN);
    }};
    expect_refused(file_at({"/etc/new", "/etc/old"}), "cannot write", full);
}

BOOST_FIXTURE_TEST_CASE(whoever_has_the_old_file_open_still_reads_it, Image)
{
    check_call(::link(rootfs("etc/old").c_str(), rootfs("etc/second-name").c_str()), "link");
    start();
    BOOST_TEST(done(commit(file_at({"/etc/old"}))));
    BOOST_TEST(text("etc/second-name") == "the image's");
}

BOOST_FIXTURE_TEST_CASE(cve_2025_23267_a_symlink_with_the_name_is_replaced_not_followed, Image)
{
    link("rootfs/etc/secret", outside("secret"));
    link("rootfs/etc/dangling", outside("nothing"));
    start();
    BOOST_TEST(done(commit(file_at({"/etc/secret", "/etc/dangling"}))));
    BOOST_TEST(made("etc/secret").starts_with("100644"));
    BOOST_TEST(made("etc/dangling").starts_with("100644"));
}

BOOST_DATA_TEST_CASE_F(Image, cve_2025_23267_a_parent_that_leads_out_stays_inside, data::make({false, true}),
                       mounted)
{
    link("rootfs/conf", outside("dir"));
    directory("rootfs" + outside("dir"));
    file("rootfs" + outside("dir/f"), "the image's");
    start();
    BOOST_TEST(done(commit(file_at({"/conf/f"}, mounted ? How::MountOver : How::Replace))));
    BOOST_TEST(seen(outside("dir/f")) == "ours, /conf/f");
}

BOOST_FIXTURE_TEST_CASE(a_parent_that_leads_nowhere_is_refused, Image)
{
    link("rootfs/conf", outside("dir"));
    start();
    expect_refused(file_at({"/etc/new", "/conf/f"}), "'/conf'");
}

BOOST_FIXTURE_TEST_CASE(what_is_no_file_is_not_replaced_by_one, Image)
{
    file("rootfs/etc/directory/inner", "the image's");
    start();
    expect_refused(file_at({"/etc/old", "/etc/new", "/etc/deep/new", "/etc/directory"}),
                   "cannot replace '/etc/directory'");
    BOOST_TEST(text("etc/old") == "the image's", "what was replaced by then is there again");
    BOOST_TEST(text("etc/directory/inner") == "the image's");
    expect_refused(file_at({"/etc/directory"}, How::MountOver), "it is no plain file");
    expect_refused(file_at({"/etc/old/x"}), "'/etc/old'");
}

BOOST_FIXTURE_TEST_CASE(a_fifo_or_node_is_replaced_and_never_opened, Image)
{
    check_call(::mkfifo(rootfs("etc/fifo").c_str(), 0600), "mkfifo");
    start();
    BOOST_TEST(done(commit(file_at({"/etc/fifo"}))));
    BOOST_TEST(text("etc/fifo") == "ours, /etc/fifo");
    check_call(::mkfifo(rootfs("etc/fifo2").c_str(), 0600), "mkfifo");
    expect_refused(file_at({"/etc/fifo2"}, How::MountOver), "it is no plain file");
}

BOOST_FIXTURE_TEST_CASE(a_mount_point_is_not_replaced, Image)
{
    start({.set_up = [&](const std::string &root) {
        make_mount(src("list"), root + "/etc/old", "", MS_BIND);
    }});
    expect_refused(file_at({"/etc/new", "/etc/old"}), "cannot replace '/etc/old'");
}

BOOST_DATA_TEST_CASE_F(Image, in_a_volume_nothing_is_made, data::make(mapped_roots), mapped_root)
{
    start_mapped(mapped_root,
                 [&](const std::string &root) { make_mount(outside(), root + "/etc", "", MS_BIND); });
    expect_refused(file_at({"/etc/secret"}), "it would lie in a volume ('/etc')");
    expect_refused(file_at({"/etc/new"}), "it would lie in a volume ('/etc')");
    expect_refused(file_at({"/etc/new"}, How::MountOver), "it would lie in a volume ('/etc')");
}

BOOST_FIXTURE_TEST_CASE(a_file_in_a_volume_can_be_mounted_over, Image)
{
    start({.set_up = [&](const std::string &root) { make_mount(outside(), root + "/etc", "", MS_BIND); }});
    BOOST_TEST(done(commit(file_at({"/etc/secret"}, How::MountOver))));
    BOOST_TEST(seen("/etc/secret") == "ours, /etc/secret");
}

BOOST_DATA_TEST_CASE_F(Image, what_is_mounted_over_stays_as_it_is, data::make(mapped_roots), mapped_root)
{
    start_mapped(mapped_root);
    BOOST_TEST(done(commit(file_at({"/etc/old", "/etc/new"}, How::MountOver))));
    BOOST_TEST(places() == (Lines{"/etc/old", "/etc/new"}), boost::test_tools::per_element());
    BOOST_TEST(seen("/etc/old") == "ours, /etc/old");
    BOOST_TEST(seen("/etc/new") == "ours, /etc/new");
    BOOST_TEST(text("etc/old") == "the image's");
    BOOST_TEST(text("etc/new").empty());
    for (const Mount &mount : container().added())
        BOOST_TEST((mount.has("ro") && mount.has("nosuid") && mount.has("nodev")), mount);
    const std::string owner = container()
                                  .inside([] {
                                      struct stat status {};
                                      check_call(::stat("/etc/old", &status), "stat");
                                      return std::to_string(status.st_uid) + " " +
                                             std::to_string(status.st_gid) + " " +
                                             std::to_string(status.st_mode & 07777U);
                                  })
                                  .text;
    BOOST_TEST(owner == "0 0 420");
    BOOST_TEST(inside([] { return ::open("/etc/old", O_WRONLY); }) == "Read-only file system");
}

BOOST_FIXTURE_TEST_CASE(the_root_of_a_user_namespace_cannot_write_to_it_nor_uncover_it, Image)
{
    start_mapped(100000);
    BOOST_TEST(done(commit(file_at({"/etc/old"}, How::MountOver))));
    mount_attr attr{};
    attr.attr_clr = MOUNT_ATTR_RDONLY;
    BOOST_TEST(inside([&] { return ::mount_setattr(AT_FDCWD, "/etc/old", 0, &attr, sizeof attr); }) ==
               "Operation not permitted");
}

BOOST_DATA_TEST_CASE_F(Image, what_has_the_temporary_name_goes_and_is_not_followed, data::make(mapped_roots),
                       mapped_root)
{
    file("rootfs/etc/.oci-gpu-hooks-one", "left");
    link("rootfs/etc/.oci-gpu-hooks-two", outside("secret"));
    start_mapped(mapped_root);
    BOOST_TEST(done(commit(file_at({"/etc/one", "/etc/two"}))));
    BOOST_TEST(text("etc/one") == "ours, /etc/one");
    BOOST_TEST(text("etc/two") == "ours, /etc/two");
    BOOST_TEST(!std::filesystem::exists(rootfs("etc/.oci-gpu-hooks-one")));
    BOOST_TEST(!std::filesystem::is_symlink(rootfs("etc/.oci-gpu-hooks-two")));
}

BOOST_FIXTURE_TEST_CASE(what_no_hook_has_left_keeps_the_temporary_name, Image)
{
    file("rootfs/etc/.oci-gpu-hooks-one", "another user's");
    directory("rootfs/etc/.oci-gpu-hooks-two");
    start();
    check_call(::chown(rootfs("etc/.oci-gpu-hooks-one").c_str(), 1000, 1000), "chown");
    for (const char *name : {"one", "two"}) {
        const std::string at = std::string("/etc/") + name;
        expect_refused(file_at({at}),
                       "'.oci-gpu-hooks-" + std::string(name) + "' beside it is none that a hook");
    }
}

BOOST_FIXTURE_TEST_CASE(of_two_containers_with_one_root_filesystem_one_waits, Image)
{
    start();
    const UniqueFd other(::open(rootfs().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    BOOST_REQUIRE(::flock(other.get(), LOCK_EX) == 0);
    file("rootfs/etc/.oci-gpu-hooks-one", "the other's, half written");
    const Outcome outcome = commit(file_at({"/etc/one"}), {.limit = std::chrono::milliseconds(100)});
    BOOST_TEST(refused(outcome, "gave up after 0 s while another process has locked the container's root"));
    BOOST_TEST(text("etc/.oci-gpu-hooks-one") == "the other's, half written");
    BOOST_REQUIRE(::flock(other.get(), LOCK_UN) == 0);
    BOOST_TEST(done(commit(file_at({"/etc/one"}))));
}

BOOST_DATA_TEST_CASE_F(Image, after_a_failure_nothing_is_left, data::make(mapped_roots), mapped_root)
{
    directory("rootfs/etc/directory");
    start_mapped(mapped_root);
    Edits edits = file_at({"/etc/new", "/made/deep/new", "/etc/directory"});
    edits.files.push_back(file_at({"/etc/old"}, How::MountOver).files.front());
    edits.mounts = data_at({"/srv/x"}).mounts;
    expect_refused(edits, "cannot replace '/etc/directory'");
    edits = file_at({"/etc/new", "/made/new"});
    edits.files.push_back(file_at({"/etc/directory"}, How::MountOver).files.front());
    expect_refused(edits, "it is no plain file");
}

BOOST_AUTO_TEST_SUITE_END()
