// SPDX-License-Identifier: Apache-2.0
//
// Races with processes that rename as fast as they can, one a core.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <ostream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "base/unique_fd.h"
#include "exchangers.h"
#include "sandbox.h"

BOOST_AUTO_TEST_SUITE(storms)

using namespace ogh;
using namespace ogh::test;
namespace data = boost::unit_test::data;

namespace {

// For each target of a link. By chance alone; `exchanges` tries the same at every single step.
constexpr int rounds = sanitized ? 100 : 250;

const auto ways_out =
    std::to_array<const char *>({"/", "OUTSIDE", "../../../../../../../../../../..OUTSIDE"});

struct Image : Sandbox {
    Image() { directory("rootfs/srv"); }

    void link_out(const std::string &name, std::string target)
    {
        if (const size_t at = target.find("OUTSIDE"); at != std::string::npos)
            target.replace(at, 7, outside());
        link("rootfs/" + name, target);
        // What is outside on the host exists in the image as well, so that the way inside the root is open.
        directory("rootfs" + outside());
    }

    void count(const Outcome &outcome)
    {
        BOOST_TEST((outcome.code == 0 || outcome.code == 1), outcome);
        BOOST_TEST(!outcome.text.empty());
        ++(outcome.code == 0 ? succeeded : refusals);
    }

    void tell(const std::string &what, const Exchangers &exchangers) const
    {
        BOOST_TEST_MESSAGE(what << ": " << succeeded << " done, " << refusals
                                << " refused, while names were exchanged " << exchangers.count() << " times");
    }

    void check_round() const
    {
        for (const std::string &place : places())
            BOOST_TEST(place.starts_with('/'), place);
    }

    /** Removes what was made in the directory, wherever it is now. @return whether something was there */
    static bool clear(int directory, const Lines &names)
    {
        bool found = false;
        for (const std::string &name : names) {
            if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0)
                found = true;
            else
                BOOST_TEST(errno == ENOENT, name);
        }
        return found;
    }

    [[nodiscard]] UniqueFd open_directory(const std::string &name) const
    {
        return UniqueFd(::open(rootfs(name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }

    int succeeded = 0;
    int refusals = 0;
};

} // namespace

BOOST_DATA_TEST_CASE_F(Image, a_target_exchanged_with_a_link_out_never_leads_out, data::make(ways_out),
                       target)
{
    directory("rootfs/srv/x");
    link_out("srv/y", target);
    const Exchangers exchangers(rootfs("srv/x"), rootfs("srv/y"));
    for (int round = 0; round < rounds; ++round) {
        start();
        count(commit(data_at({"/srv/x"})));
        check_round();
    }
    tell(target, exchangers);
    BOOST_TEST(refusals > 0);
}

BOOST_DATA_TEST_CASE_F(Image, a_directory_exchanged_with_a_link_out_never_gets_a_placeholder_outside,
                       data::make(ways_out), target)
{
    const Lines names = {"a", "b", "c"};
    link_out("other", target);
    const std::array directories{open_directory("srv"), open_directory(""),
                                 open_directory(outside().substr(1))};
    const Exchangers exchangers(rootfs("srv"), rootfs("other"));
    for (int round = 0; round < rounds; ++round) {
        start();
        const Outcome outcome = commit(data_at({"/srv/a", "/srv/b", "/srv/c"}));
        count(outcome);
        check_round();
        bool left = false;
        for (const UniqueFd &directory : directories)
            left |= clear(directory.get(), names);
        BOOST_TEST(left == (outcome.code == 0), outcome);
    }
    tell(target, exchangers);
    BOOST_TEST(refusals > 0);
}

BOOST_FIXTURE_TEST_CASE(renames_elsewhere_are_no_reason_to_fail, Image)
{
    directory("elsewhere/a");
    directory("elsewhere/b");
    directory("rootfs/data/deep/srv");
    std::filesystem::remove(rootfs("srv"));
    link("rootfs/srv", "data/../data/deep/../deep/srv"); // on `..` the kernel looks for renames meanwhile
    const Exchangers exchangers(path("elsewhere/a"), path("elsewhere/b"));
    for (int round = 0; round < rounds; ++round) {
        start();
        const Outcome outcome = commit(data_at({"/srv/x"}));
        count(outcome);
        if (outcome.code != 0)
            BOOST_TEST(refused(outcome, "Resource temporarily unavailable"));
    }
    tell("elsewhere", exchangers);
    BOOST_TEST(succeeded * 100 >= rounds * 98); // a few times the kernel never finds a quiet moment
}

BOOST_FIXTURE_TEST_CASE(two_hooks_at_once_do_not_disturb_each_other, Image)
{
    std::filesystem::remove(rootfs("srv"));
    for (int round = 0; round < rounds / 4; ++round) {
        start();
        const pid_t pid = container().pid();
        Child other([&] {
            if (in_child(committing(data_at({"/srv/deep/1", "/srv/deep/2", "/srv/deep/3"}), pid)).code != 0)
                fail("the other hook");
        });
        BOOST_TEST(done(commit(data_at({"/srv/deep/a", "/srv/deep/b", "/srv/deep/c"}))));
        BOOST_TEST(other.wait() == 0);
        BOOST_TEST(places().size() == 6U);
        std::filesystem::remove_all(rootfs("srv"));
    }
}

BOOST_AUTO_TEST_SUITE_END()
