// SPDX-License-Identifier: Apache-2.0
//
// What each way of walking a path follows, refuses or crosses.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ostream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "base/error.h"
#include "child.h"
#include "kernel/openat2.h"
#include "mounts.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(walks)

using namespace ogh;
using namespace ogh::test;
namespace data = boost::unit_test::data;

namespace {

/** A path below `top`, and what comes of each walk: the text of what is found, or an error number. */
struct Case {
    const char *path;
    const char *in_root;
    const char *no_symlinks;
    const char *beneath;
    const char *one_step;

    [[nodiscard]] const char *expected(Walk walk) const
    {
        switch (walk) {
        case Walk::InRoot:
            return in_root;
        case Walk::NoSymlinks:
            return no_symlinks;
        case Walk::Beneath:
            return beneath;
        case Walk::OneStep:
            break;
        }
        return one_step;
    }

    friend std::ostream &operator<<(std::ostream &out, const Case &one) { return out << one.path; }
};

constexpr const char *link_met = "ELOOP";
constexpr const char *way_out = "EXDEV";

const auto cases = std::to_array<Case>({
    {"file", "inside", "inside", "inside", "inside"},
    {"directory/file", "deep", "deep", "deep", "deep"},
    {"directory/../file", "inside", "inside", "inside", "inside"},
    {"none", "nothing", "nothing", "nothing", "nothing"},
    // a symlink
    {"link", "inside", link_met, link_met, link_met},
    {"link-to-directory/file", "deep", link_met, link_met, link_met},
    {"link-out", "inside", link_met, link_met, link_met},
    {"absolute", "inside", link_met, link_met, link_met},
    {"magic/file", link_met, link_met, link_met, link_met},
    // out of the directory by other ways
    {"../file", "inside", "outside", way_out, way_out},
    {"/file", "inside", "nothing", way_out, way_out},
    // what something is mounted on
    {"mounted", "mounted", "mounted", "mounted", way_out},
    {"volume/file", "mounted", "mounted", "mounted", way_out},
});

constexpr auto every_walk =
    std::to_array<Walk>({Walk::InRoot, Walk::NoSymlinks, Walk::Beneath, Walk::OneStep});

struct Tree : TempDirectory {
    Tree()
    {
        file("file", "outside");
        file("top/file", "inside");
        file("top/directory/file", "deep");
        file("top/mounted", "covered");
        file("other/file", "mounted");
        directory("top/volume");
        link("top/link", "file");
        link("top/link-to-directory", "directory");
        link("top/link-out", "../file");
        link("top/absolute", "/file");
        link("top/magic", "proc/self/cwd");
        directory("top/proc");
    }

    /** In a mount namespace of its own. */
    [[nodiscard]] std::string outcome(const Case &one, Walk walk) const
    {
        const auto look = [&] {
            check_call(::unshare(CLONE_NEWNS), "unshare");
            change_mount("/", MS_REC | MS_PRIVATE);
            make_mount(path("other/file"), path("top/mounted"), "", MS_BIND);
            make_mount(path("other"), path("top/volume"), "", MS_BIND);
            make_mount("proc", path("top/proc"), "proc");
            check_call(::chdir(path("top").c_str()), "chdir");
            const UniqueFd top(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
            return text_of(top.get(), one.path, walk);
        };
        return in_child(look).text;
    }

private:
    static std::string text_of(int top, const char *name, Walk walk)
    {
        try {
            const auto found = find_path(top, name, O_RDONLY, walk, "it");
            if (!found)
                return "nothing";
            std::string text(16, '\0');
            const ssize_t size = ::read(found->get(), text.data(), text.size());
            check_call(size, "read");
            return text.substr(0, static_cast<size_t>(size));
        } catch (const SystemError &error) {
            if (error.error_number() == ELOOP)
                return link_met;
            return error.error_number() == EXDEV ? way_out : error.what();
        }
    }
};

} // namespace

BOOST_DATA_TEST_CASE_F(Tree, a_path_is_walked_so_far_and_no_further, data::make(cases), one)
{
    for (const Walk walk : every_walk)
        BOOST_TEST(outcome(one, walk) == one.expected(walk));
}

BOOST_AUTO_TEST_SUITE_END()
