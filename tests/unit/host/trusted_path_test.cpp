// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "host/trusted_path.h"
#include "support/expect.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(trusted_path)

using namespace ogh;
using ogh::test::failure_of;
using ogh::test::TempDirectory;

namespace {

/** A file below a directory where everybody may make names, as in /tmp. */
struct Tree : TempDirectory {
    Tree()
    {
        file("real/file");
        directory("shared");
        change_mode("shared", 01777);
    }

    void change_mode(const std::string &name, mode_t mode) const
    {
        BOOST_REQUIRE(::chmod(path(name).c_str(), mode) == 0);
    }

    [[nodiscard]] test::Failure refusal(const std::string &name) const
    {
        return failure_of([&] { static_cast<void>(find_trusted(Sysroot("/"), path(name), ::geteuid())); });
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(what_others_may_write_is_refused, Tree)
{
    file("shared/file");
    for (const char *name : {"real/file", "shared/file"})
        BOOST_TEST(find_trusted(Sysroot("/"), path(name), ::geteuid())->path == path(name));
    BOOST_TEST(!find_trusted(Sysroot("/"), path("real/none"), ::geteuid()));
    for (const mode_t mode : {0775U, 0757U}) {
        change_mode("real", mode);
        BOOST_TEST(refusal("real/file").says("a directory on the way to"));
    }
    change_mode("real", 0755);
    change_mode("real/file", 0664);
    BOOST_TEST(refusal("real/file").says("'" + path("real/file") + "' may be written by others"));
}

BOOST_FIXTURE_TEST_CASE(a_symlink_of_somebody_else_is_not_followed, Tree)
{
    link("shared/link", "../real");
    BOOST_TEST(find_trusted(Sysroot("/"), path("shared/link/file"), ::geteuid())->path == path("real/file"));
    if (::geteuid() != 0)
        return;
    BOOST_REQUIRE(::lchown(path("shared/link").c_str(), 1000, 1000) == 0);
    BOOST_TEST((refusal("shared/link/file").kind == ErrorKind::BrokenHost));
    BOOST_TEST(refusal("shared/link/file").says("a symlink on the way to"),
               refusal("shared/link/file").message);
    BOOST_TEST(refusal("shared/link/file").says("belongs to user 1000"));
}

BOOST_AUTO_TEST_SUITE_END()
