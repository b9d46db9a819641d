// SPDX-License-Identifier: Apache-2.0
//
// What is made in an image, and that it goes again after a failure.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "sandbox.h"

BOOST_AUTO_TEST_SUITE(placeholders)

using namespace ogh;
using namespace ogh::test;
namespace data = boost::unit_test::data;

namespace {

struct Image : Sandbox {
    /** Type and mode, owner and group of what a mount covers, as the host sees it. */
    [[nodiscard]] std::string made(const std::string &name) const
    {
        struct stat status {};
        check_call(::lstat(rootfs(name).c_str(), &status), name);
        std::ostringstream text;
        text << std::oct << status.st_mode << std::dec << " " << status.st_uid << ":" << status.st_gid
             << " size " << (S_ISREG(status.st_mode) ? status.st_size : 0);
        return text.str();
    }

    /** Five directories, of which the third cannot be mounted: a file of the image has the name. */
    void expect_nothing_left(const Edits &edits)
    {
        start();
        const Lines before = image();
        BOOST_TEST(refused(commit(edits), "it is no directory"));
        BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
        BOOST_TEST(places() == Lines(), boost::test_tools::per_element());
    }
};

const char *const directory_as_planned = "40755 0:0 size 0";
const char *const file_as_planned = "100644 0:0 size 0";

} // namespace

BOOST_DATA_TEST_CASE_F(Image, mode_and_owner_are_as_planned_whatever_the_umask,
                       data::make({0, 022, 077, 0777}), mask)
{
    start();
    const Conditions masked{.first = [mask = mask] { ::umask(static_cast<mode_t>(mask)); }};
    BOOST_TEST(done(commit(data_at({"/srv/sub/x"}), masked)));
    BOOST_TEST(done(commit(list_at("/srv/list"), masked)));
    BOOST_TEST(made("srv") == directory_as_planned);
    BOOST_TEST(made("srv/sub") == directory_as_planned);
    BOOST_TEST(made("srv/sub/x") == directory_as_planned);
    BOOST_TEST(made("srv/list") == file_as_planned);
}

BOOST_FIXTURE_TEST_CASE(a_setgid_directory_does_not_pass_its_bit_on, Image)
{
    directory("rootfs/srv");
    check_call(::chown(rootfs("srv").c_str(), 1000, 1000), "chown");
    check_call(::chmod(rootfs("srv").c_str(), 03777), "chmod");
    start();
    BOOST_TEST(done(commit(data_at({"/srv/x"}))));
    BOOST_TEST(done(commit(list_at("/srv/list"))));
    BOOST_TEST((made("srv/x").substr(0, 5) == "40755"), made("srv/x"));
    BOOST_TEST((made("srv/list").substr(0, 6) == "100644"), made("srv/list"));
}

BOOST_FIXTURE_TEST_CASE(what_exists_keeps_mode_and_owner, Image)
{
    directory("rootfs/srv/x");
    check_call(::chown(rootfs("srv/x").c_str(), 1000, 1001), "chown");
    check_call(::chmod(rootfs("srv/x").c_str(), 01711), "chmod");
    start();
    BOOST_TEST(done(commit(data_at({"/srv/x"}))));
    BOOST_TEST(made("srv/x") == "41711 1000:1001 size 0");
}

BOOST_FIXTURE_TEST_CASE(after_a_failure_in_the_middle_nothing_is_left, Image)
{
    file("rootfs/opt/c", "in the way");
    expect_nothing_left(data_at({"/srv/a", "/srv/deep/b", "/opt/c", "/srv/d", "/srv/e"}));
}

BOOST_FIXTURE_TEST_CASE(after_a_failure_a_directory_of_the_image_stays, Image)
{
    file("rootfs/srv/c", "in the way");
    file("rootfs/srv/theirs", "the image's");
    expect_nothing_left(data_at({"/srv/a", "/srv/deep/b", "/srv/c", "/srv/d", "/srv/e"}));
}

BOOST_FIXTURE_TEST_CASE(after_a_failure_files_go_too, Image)
{
    file("rootfs/srv/c", "in the way");
    Edits edits = list_at("/srv/list");
    edits.mounts.push_back(list_at("/made/list").mounts.front());
    edits.mounts.push_back(data_at({"/srv/c"}).mounts.front());
    expect_nothing_left(edits);
}

BOOST_FIXTURE_TEST_CASE(after_a_failure_a_directory_that_was_made_for_a_written_file_is_gone, Image)
{
    file("rootfs/opt/c", "in the way");
    Edits edits;
    edits.files = {{"/srv/new/conf", "text"}, {"/opt/c/conf", "text"}};
    expect_nothing_left(edits);
}

BOOST_FIXTURE_TEST_CASE(after_a_failure_mounts_on_what_existed_are_gone_as_well, Image)
{
    directory("rootfs/srv/a");
    file("rootfs/srv/c", "in the way");
    expect_nothing_left(data_at({"/srv/a", "/srv/c"}));
}

BOOST_FIXTURE_TEST_CASE(after_a_failure_what_an_earlier_run_mounted_stays, Image)
{
    file("rootfs/srv/c", "in the way");
    start();
    BOOST_TEST(done(commit(data_at({"/srv/a"}))));
    const Lines before = image();
    BOOST_TEST(refused(commit(data_at({"/srv/a", "/srv/b", "/srv/c"})), "it is no directory"));
    BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
    BOOST_TEST(places() == Lines{"/srv/a"}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_source_that_is_gone_is_refused_before_anything_is_made, Image)
{
    start();
    const Lines before = image();
    Edits edits = data_at({"/srv/a"});
    edits.mounts.push_back({src("gone"), "/srv/gone", Kind::Directory, true});
    BOOST_TEST(refused(commit(edits), "'" + src("gone") + "' has gone since it was looked up",
                       ErrorKind::NotAvailable));
    BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_source_that_became_a_link_or_a_file_is_refused, Image)
{
    link("src/link", "data");
    link("src/up", "..");
    start();
    const Lines before = image();
    const auto source = [&](const std::string &name) {
        return Edits{{{src(name), "/srv/x", Kind::Directory, true}}};
    };
    BOOST_TEST(refused(commit(source("link")), "Too many levels of symbolic links"));
    BOOST_TEST(refused(commit(source("up/src/data")), "Too many levels of symbolic links"));
    BOOST_TEST(refused(commit(source("list")), "is no longer what it was"));
    BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
