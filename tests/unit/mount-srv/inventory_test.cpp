// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>

#include "mount-srv/inventory.h"
#include "support/expect.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(mount_srv_inventory)

using namespace ogh;
using namespace ogh::mount_srv;
using ogh::test::failure_of;
using ogh::test::TempDirectory;

namespace {

/** A sysroot with a /srv. */
struct Host : TempDirectory {
    Host() { directory("srv"); }

    [[nodiscard]] Inventory read(const std::string &source = "/srv") const
    {
        return read_inventory(Sysroot(path()), source);
    }

    /** The entry's host path below the sysroot, or its problem; "-" if it is not offered. */
    [[nodiscard]] std::string entry(const std::string &name) const
    {
        for (const Directory &directory : read().directories) {
            if (directory.name == name)
                return directory.problem.empty() ? directory.host_path.substr(path().size())
                                                 : directory.problem;
        }
        return "-";
    }
};

constexpr const char *writable_problem =
    "its symlink leads through a directory that containers may write, which could "
    "point it at anything";

} // namespace

BOOST_AUTO_TEST_CASE(directories_and_plain_files_are_offered_in_order)
{
    const Host host;
    host.directory("srv/models");
    host.directory("srv/datasets");
    host.file("srv/file");
    const Inventory inventory = host.read();
    BOOST_TEST(inventory.exists);
    BOOST_REQUIRE(inventory.directories.size() == 3);
    BOOST_TEST((inventory.directories[0] ==
                Directory{"datasets", host.path("srv/datasets"), Kind::Directory, "", ErrorKind::None}));
    BOOST_TEST((inventory.directories[1] ==
                Directory{"file", host.path("srv/file"), Kind::File, "", ErrorKind::None}));
    BOOST_TEST(inventory.directories[2].name == "models");
}

BOOST_AUTO_TEST_CASE(names_with_a_dot_and_special_files_are_not)
{
    const Host host;
    host.directory("srv/.hidden");
    host.directory("srv/..also");
    BOOST_REQUIRE(::mkfifo(host.path("srv/fifo").c_str(), 0600) == 0);
    BOOST_TEST(host.read().directories.empty());
}

BOOST_AUTO_TEST_CASE(names_of_any_bytes_are_offered)
{
    const Host host;
    for (const char *name : {"a b", "a'b\"", "a\nb", "a\xff", "a,b", "all", "b:ro"}) {
        host.directory("srv/" + std::string(name));
        BOOST_TEST(host.entry(name) == "/srv/" + std::string(name));
    }
}

BOOST_AUTO_TEST_CASE(a_missing_source_directory_is_no_error)
{
    const Host host;
    BOOST_TEST(!host.read("/nowhere").exists);
    BOOST_TEST(host.read("/nowhere").source_dir == host.path("nowhere"));
}

BOOST_AUTO_TEST_CASE(a_source_directory_that_is_a_file_is_an_error)
{
    const Host host;
    host.file("srv/file");
    BOOST_TEST(
        (failure_of([&] { static_cast<void>(host.read("/srv/file")); }).kind == ErrorKind::BrokenHost));
}

BOOST_AUTO_TEST_CASE(symlinks_are_followed_below_the_sysroot)
{
    const Host host;
    host.directory("data/models/v2");
    host.file("data/list");
    host.directory("srv/datasets/v1");
    host.link("srv/absolute", "/data/models");
    host.link("srv/relative", "../data/models/v2");
    host.link("srv/outwards", "../../../../../data/list");
    host.link("srv/inner", "datasets/v1");
    host.link("data/again", "models");
    host.link("srv/chain", "/data/again/v2");
    BOOST_TEST(host.entry("absolute") == "/data/models");
    BOOST_TEST(host.entry("relative") == "/data/models/v2");
    BOOST_TEST(host.entry("outwards") == "/data/list");
    BOOST_TEST(host.entry("inner") == "/srv/datasets/v1");
    BOOST_TEST(host.entry("chain") == "/data/models/v2");
}

BOOST_AUTO_TEST_CASE(the_source_directory_may_be_a_symlink)
{
    const Host host;
    host.directory("data/srv/a");
    host.link("srv2", "data/srv");
    const Inventory inventory = host.read("/srv2");
    BOOST_REQUIRE(inventory.directories.size() == 1);
    BOOST_TEST(inventory.directories[0].host_path == host.path("data/srv/a"));
}

BOOST_AUTO_TEST_CASE(a_symlink_without_end_or_target_has_a_problem)
{
    const Host host;
    host.link("srv/dangling", "nowhere/x");
    host.link("srv/loop", "loop");
    host.link("srv/device", "/fifo");
    BOOST_REQUIRE(::mkfifo(host.path("fifo").c_str(), 0600) == 0);
    BOOST_TEST(host.entry("dangling") == "its symlink leads nowhere");
    BOOST_TEST(host.entry("loop").find("Too many levels of symbolic links") != std::string::npos);
    BOOST_TEST(host.entry("device").find("neither a directory nor a plain file") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_symlink_through_what_containers_may_write_has_a_problem)
{
    const Host host;
    host.directory("srv/out_rw/sub");
    host.directory("srv/x_writable");
    host.directory("data/dir");
    host.link("srv/direct", "out_rw/sub");
    host.link("srv/absolute", "/srv/out_rw/sub");
    host.link("srv/file", "x_writable/../x_writable/list");
    host.link("data/dir/hop", "/srv/out_rw/sub");
    host.link("srv/chain", "/data/dir/hop");
    host.file("srv/x_writable/list");
    host.link("srv/out_again", "out_rw/../../data");
    for (const char *name : {"direct", "absolute", "file", "chain", "out_again"})
        BOOST_TEST(host.entry(name) == writable_problem, name);
}

BOOST_AUTO_TEST_CASE(what_a_writable_symlink_leads_to_counts_as_writable)
{
    const Host host;
    host.directory("data/models/sub");
    host.link("srv/models_rw", "/data/models");
    host.link("srv/other", "/data/models/sub");
    BOOST_TEST(host.entry("models_rw") == "/data/models");
    BOOST_TEST(host.entry("other") == writable_problem);
}

BOOST_AUTO_TEST_CASE(a_second_name_for_a_writable_directory_itself_is_safe)
{
    const Host host;
    host.directory("srv/out_rw");
    host.link("srv/results", "out_rw");
    BOOST_TEST(host.entry("results") == "/srv/out_rw");
}

BOOST_AUTO_TEST_SUITE_END()
