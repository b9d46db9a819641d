// SPDX-License-Identifier: Apache-2.0
//
// A tree with files of the host, the links that lead into it, and what a later request reads of it.
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "base/unique_fd.h"
#include "image/container_view.h"
#include "sandbox.h"

BOOST_AUTO_TEST_SUITE(trees)

using namespace ogh;
using namespace ogh::test;
namespace data = boost::unit_test::data;

namespace {

constexpr unsigned mapped = 100000;
constexpr const char *top = "/opt/tree";

struct Tree : Sandbox {
    Tree()
    {
        file("src/libx.so.1.2", "the library");
        directory("src/pipes");
        directory("rootfs/opt");
        sockaddr_un address{AF_UNIX, {}};
        src("s").copy(address.sun_path, sizeof address.sun_path - 1);
        const int fd = socket_.get();
        check_call(::bind(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address), "bind");
        check_call(::listen(fd, 1), "listen");
    }

    [[nodiscard]] Edits tree(const std::string &given = "first\n") const
    {
        TmpfsEdit tree{top, {{".own/given", given}, {"share/a/text", "ours"}}};
        tree.mounts = {{src("libx.so.1.2"), std::string(top) + "/lib64/libx.so.1.2", Kind::File},
                       {src("pipes"), std::string(top) + "/run/pipes", Kind::Directory, false},
                       {src("s"), std::string(top) + "/run/s", Kind::Socket}};
        tree.links = {{std::string(top) + "/lib64/libx.so.1", "libx.so.1.2"},
                      {std::string(top) + "/new/link", "/elsewhere"}};
        Edits edits;
        edits.tree = tree;
        return edits;
    }

    [[nodiscard]] Edits with_link(const std::string &path) const
    {
        Edits edits = tree();
        edits.links = {{path, std::string(top) + "/share/a/text", true}, {"/opt/other", "x", true}};
        return edits;
    }

    /** What a program of the container reads, or why it cannot. */
    [[nodiscard]] std::string read(const std::string &path)
    {
        const auto work = [&] {
            const std::ifstream file(path);
            std::ostringstream text;
            if (file)
                text << file.rdbuf();
            return file ? text.str() : "cannot be read";
        };
        return container().inside(work).text;
    }

    /** "", or the text of errno of a call by a program of the container. */
    [[nodiscard]] std::string inside(const std::function<long()> &call)
    {
        return container()
            .inside([&] {
                check_call(call(), "");
                return std::string();
            })
            .text;
    }

    void give_image_to_the_mapped_root() const
    {
        check_call(::chown(rootfs().c_str(), mapped, mapped), "chown");
        check_call(::chown(rootfs("opt").c_str(), mapped, mapped), "chown");
    }

    /** What a later request reads. */
    [[nodiscard]] std::string earlier()
    {
        ContainerView view({container().pid(), rootfs()});
        return read_previous_request(view, "/opt/tree/.own/given").value_or("nothing");
    }

private:
    UniqueFd socket_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

} // namespace

BOOST_DATA_TEST_CASE_F(Tree, the_container_sees_it_whole, data::make({0U, mapped}), root)
{
    give_image_to_the_mapped_root();
    start({.mapped_root = root});
    BOOST_TEST(done(commit(tree())));
    BOOST_TEST(read("/opt/tree/lib64/libx.so.1") == "the library");
    BOOST_TEST(read("/opt/tree/share/a/text") == "ours");
    BOOST_TEST(read("/opt/tree/.own/given") == "first\n");
    const Mounts added = container().added();
    BOOST_REQUIRE(added.size() == 4U);
    for (const Mount &mount : added) {
        const bool is_writable = mount.point.ends_with("/pipes");
        BOOST_TEST((mount.has("nosuid") && mount.has("nodev")), mount);
        BOOST_TEST((mount.has("ro") != is_writable && mount.has("noexec") == is_writable), mount);
    }
}

BOOST_DATA_TEST_CASE_F(Tree, only_what_says_so_can_be_written, data::make({0U, mapped}), root)
{
    give_image_to_the_mapped_root();
    for (const char *name : {"pipes", "libx.so.1.2"})
        check_call(::chown(src(name).c_str(), root, root), "chown");
    start({.mapped_root = root});
    sources_may_change();
    BOOST_TEST(done(commit(tree())));
    const auto make = [](const char *path) { return ::mknod(path, S_IFREG | 0644, 0); };
    BOOST_TEST(inside([&] { return make("/opt/tree/mine"); }) == ": Read-only file system");
    BOOST_TEST(inside([] { return ::truncate("/opt/tree/lib64/libx.so.1", 0); }) ==
               ": Read-only file system");
    BOOST_TEST(inside([] { return ::unlink("/opt/tree/new/link"); }) == ": Read-only file system");
    BOOST_TEST(inside([&] { return make("/opt/tree/run/pipes/mine"); }) == "");
}

BOOST_FIXTURE_TEST_CASE(a_socket_in_it_can_be_connected_to, Tree)
{
    start();
    BOOST_TEST(done(commit(tree())));
    BOOST_TEST(inside([] {
                   const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
                   sockaddr_un address{AF_UNIX, "/opt/tree/run/s"};
                   return ::connect(fd.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address);
               }) == "");
}

BOOST_FIXTURE_TEST_CASE(in_a_user_namespace_it_is_locked, Tree)
{
    give_image_to_the_mapped_root();
    start({.mapped_root = mapped});
    BOOST_TEST(done(commit(tree())));
    constexpr unsigned long writable = MS_REMOUNT | MS_BIND;
    const auto remount = [](const char *path) {
        return ::mount(nullptr, path, nullptr, writable | MS_NOSUID | MS_NODEV, nullptr);
    };
    BOOST_TEST(inside([&] { return remount("/opt/tree"); }) == ": Operation not permitted");
    BOOST_TEST(inside([&] { return remount("/opt/tree/lib64/libx.so.1.2"); }) == ": Operation not permitted");
    BOOST_TEST(inside([] { return ::umount2("/opt/tree/lib64/libx.so.1.2", MNT_DETACH); }) ==
               ": Invalid argument");
}

BOOST_FIXTURE_TEST_CASE(what_stays_in_the_image_is_one_empty_directory, Tree)
{
    const Lines before = image();
    start();
    BOOST_TEST(done(commit(tree())));
    container().end();
    Lines after = image();
    BOOST_TEST(after.size() == before.size() + 1);
    ::rmdir(rootfs("opt/tree").c_str());
    BOOST_TEST(image() == before, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(after_a_failure_there_is_nothing, Tree)
{
    const Lines before = image();
    directory("rootfs/etc/directory");
    start();
    Edits edits = with_link("/opt/link");
    edits.files.push_back({"/etc/directory", "mine", FileEdit::How::Replace});
    BOOST_TEST(!done(commit(edits)));
    BOOST_TEST(container().added() == Mounts(), boost::test_tools::per_element());
    ::rmdir(rootfs("etc/directory").c_str());
    ::rmdir(rootfs("etc").c_str());
    BOOST_TEST(image() == before, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_source_of_another_kind_is_refused, Tree)
{
    link("src/link", "list");
    start();
    Edits edits = tree();
    edits.tree->mounts[0].kind = Kind::Socket;
    BOOST_TEST(refused(commit(edits), "no longer what it was"));
    edits.tree->mounts[0] = {src("none"), "/opt/tree/lib64/none", Kind::File};
    BOOST_TEST(refused(commit(edits), "none", ErrorKind::NotAvailable));
    edits.tree->mounts[0] = {src("link"), "/opt/tree/lib64/none", Kind::File};
    BOOST_TEST(refused(commit(edits), "link"));
    BOOST_TEST(container().added() == Mounts(), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(another_tree_takes_the_place_of_the_first, Tree)
{
    for (const unsigned root : {0U, mapped}) {
        give_image_to_the_mapped_root();
        start({.mapped_root = root});
        BOOST_TEST(done(commit(tree())));
        BOOST_TEST(done(commit(tree("second\n"))));
        BOOST_TEST(read("/opt/tree/.own/given") == "second\n");
        BOOST_TEST(read("/opt/tree/lib64/libx.so.1") == "the library");
    }
}

BOOST_FIXTURE_TEST_CASE(what_the_image_has_there_is_hidden_and_stays, Tree)
{
    file("rootfs/opt/tree/lib64/libx.so.1", "the image's");
    const Lines before = image();
    start();
    BOOST_TEST(done(commit(tree())));
    BOOST_TEST(read("/opt/tree/lib64/libx.so.1") == "the library");
    container().end();
    BOOST_TEST(image() == before, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_link_of_the_image_leads_to_another_place_in_the_root, Tree)
{
    directory("rootfs/outside");
    link("rootfs/opt/tree", "../../../outside");
    start();
    BOOST_TEST(done(commit(tree())));
    BOOST_TEST(read("/outside/lib64/libx.so.1") == "the library");
}

BOOST_FIXTURE_TEST_CASE(a_place_that_is_no_directory_is_refused, Tree)
{
    file("rootfs/opt/tree", "a file");
    start();
    BOOST_TEST(refused(commit(tree()), "it is no directory"));
    BOOST_TEST(container().added() == Mounts(), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(in_a_volume_no_directory_is_made_for_it, Tree)
{
    directory("volume");
    start({.set_up = [this](const std::string &root) {
        make_mount(path("volume"), root + "/opt", "", MS_BIND);
    }});
    BOOST_TEST(refused(commit(tree()), "volume"));
}

BOOST_FIXTURE_TEST_CASE(a_link_is_made_where_the_image_has_nothing, Tree)
{
    start();
    BOOST_TEST(done(commit(with_link("/opt/a/b/link"))));
    BOOST_TEST(read("/opt/a/b/link") == "ours");
    BOOST_TEST(done(commit(with_link("/opt/a/b/link"))));
}

BOOST_FIXTURE_TEST_CASE(what_the_image_has_of_that_name_stays, Tree)
{
    file("rootfs/opt/file", "the image's");
    link("rootfs/opt/dangling", "nowhere");
    directory("rootfs/opt/directory");
    const Lines before = image();
    start();
    for (const char *name : {"/opt/file", "/opt/dangling", "/opt/directory"}) {
        Edits edits = with_link(name);
        edits.links.pop_back();
        edits.tree.reset();
        BOOST_TEST(done(commit(edits)), name);
    }
    BOOST_TEST(image() == before, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(an_empty_file_is_no_file, Tree)
{
    file("rootfs/opt/file", ""); // as others leave them behind
    start();
    BOOST_TEST(done(commit(with_link("/opt/file"))));
    BOOST_TEST(read("/opt/file") == "ours");
}

BOOST_FIXTURE_TEST_CASE(a_link_that_cannot_be_made_is_a_warning, Tree)
{
    directory("volume");
    directory("rootfs/etc");
    file("rootfs/opt/file", "in the way");
    link("rootfs/opt/dangling", "nowhere");
    for (const char *name : {"/etc/vendor/link", "/opt/file/link", "/opt/dangling/link"}) {
        start({.set_up = [this](const std::string &root) {
            make_mount(path("volume"), root + "/etc", "", MS_BIND);
        }});
        const Outcome outcome = commit(with_link(name));
        BOOST_TEST(done(outcome), name);
        BOOST_TEST(outcome.text.find("is left out: ") != std::string::npos, outcome);
        BOOST_TEST(read("/opt/tree/lib64/libx.so.1") == "the library");
        BOOST_TEST(::unlink(rootfs("opt/other").c_str()) == 0); // the second link was made nevertheless
    }
    BOOST_TEST(::rmdir(path("volume").c_str()) == 0); // nothing was made in it
}

BOOST_FIXTURE_TEST_CASE(a_later_request_reads_what_an_earlier_one_left, Tree)
{
    for (const unsigned root : {0U, mapped}) {
        give_image_to_the_mapped_root();
        start({.mapped_root = root});
        BOOST_TEST(earlier() == "nothing");
        BOOST_TEST(done(commit(tree())));
        BOOST_TEST(earlier() == "first\n");
        BOOST_TEST(done(commit(tree("second\n"))));
        BOOST_TEST(earlier() == "second\n");
    }
}

BOOST_FIXTURE_TEST_CASE(an_image_cannot_leave_an_earlier_request, Tree)
{
    file("rootfs/opt/tree/.own/given", "forged");
    file("rootfs/mine/.own/given", "forged");
    start();
    BOOST_TEST(earlier() == "nothing");
    // On a tmpfs, as an engine makes them, with a copy of the image's files.
    start({.set_up = [](const std::string &root) {
        make_mount("tmpfs", root + "/opt/tree", "tmpfs");
        check_call(::mkdir((root + "/opt/tree/.own").c_str(), 0755), "mkdir");
        std::ofstream(root + "/opt/tree/.own/given") << "forged";
    }});
    BOOST_TEST(earlier() == "nothing");
    // Where another user has written it, below the name that trees have.
    start({.set_up = [](const std::string &root) {
        make_mount("oci-gpu-hooks", root + "/opt/tree", "tmpfs");
        check_call(::mkdir((root + "/opt/tree/.own").c_str(), 0755), "mkdir");
        std::ofstream(root + "/opt/tree/.own/given") << "forged";
        check_call(::chown((root + "/opt/tree/.own/given").c_str(), 1000, 1000), "chown");
    }});
    BOOST_TEST(earlier() == "nothing");
    // Of root and below the name that trees have, but not on a tmpfs.
    start({.set_up = [](const std::string &root) {
        make_mount("oci-gpu-hooks", root + "/opt/tree", "ramfs");
        check_call(::mkdir((root + "/opt/tree/.own").c_str(), 0755), "mkdir");
        std::ofstream(root + "/opt/tree/.own/given") << "forged";
    }});
    BOOST_TEST(earlier() == "nothing");
}

BOOST_AUTO_TEST_SUITE_END()
