// SPDX-License-Identifier: Apache-2.0
//
// The hook, or the container's init, ends in the middle: tried at every step, and at random.
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <random>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "sandbox.h"
#include "stepped.h"

BOOST_AUTO_TEST_SUITE(interruptions)

using namespace ogh;
using namespace ogh::test;

namespace data = boost::unit_test::data;

namespace {

constexpr int stride = sanitized ? 5 : 1;
const auto mapped_roots = std::to_array<unsigned>({0, 100000});

struct Image : Sandbox {
    [[nodiscard]] Edits edits() const
    {
        Edits edits = data_at({"/srv/a", "/srv/deep/b"});
        edits.mounts.push_back(list_at("/srv/list").mounts.front());
        return edits;
    }

    /** An empty image; with a user namespace, in which root is `mapped_root`, or without one for 0. */
    void start_mapped(unsigned mapped_root)
    {
        std::filesystem::remove_all(rootfs("srv"));
        check_call(::chown(rootfs().c_str(), mapped_root, mapped_root), "chown");
        start({.mapped_root = mapped_root});
    }

    [[nodiscard]] static Lines expected() { return {"/srv/a", "/srv/deep/b", "/srv/list"}; }
};

} // namespace

BOOST_DATA_TEST_CASE_F(Image, a_hook_killed_at_any_step_leaves_the_host_alone_and_the_next_run_repairs,
                       data::make(mapped_roots), mapped_root)
{
    int step = 0;
    for (bool reached = true; reached; step += stride) {
        reached = false;
        start_mapped(mapped_root);
        const Outcome outcome =
            in_stepped_child(committing(edits(), container().pid()), SYS_pidfd_open, [&](const Step &now) {
                if (now.index == step) {
                    ::kill(now.pid, SIGKILL);
                    reached = true;
                }
            });
        BOOST_TEST(outcome.code == (reached ? 128 + SIGKILL : 0), outcome);
        check_nothing_escaped();
        BOOST_TEST(done(commit(edits())));
        BOOST_TEST(places() == expected(), boost::test_tools::per_element());
    }
    BOOST_TEST_MESSAGE("killed at each of " << step / stride << " steps");
}

BOOST_DATA_TEST_CASE_F(Image, an_init_that_ends_at_any_step_is_noticed_or_does_not_matter,
                       data::make(mapped_roots), mapped_root)
{
    int refusals = 0;
    int step = 0;
    for (bool reached = true; reached; step += stride) {
        reached = false;
        start_mapped(mapped_root);
        const Outcome outcome =
            in_stepped_child(committing(edits(), container().pid()), SYS_pidfd_open, [&](const Step &now) {
                if (now.index == step) {
                    container().end();
                    reached = true;
                }
            });
        if (outcome.code != 0) {
            BOOST_TEST(refused(outcome, "the container's init process has ended"));
            ++refusals;
        }
        check_nothing_escaped();
    }
    BOOST_TEST(refusals > 0);
    BOOST_TEST_MESSAGE("ended at each of " << step / stride << " steps, " << refusals << " times noticed");
}

BOOST_FIXTURE_TEST_CASE(an_init_killed_at_random_is_noticed_or_does_not_matter, Image)
{
    constexpr int rounds = sanitized ? 100 : 1000;
    int refusals = 0;
    std::mt19937 random(4711); // NOLINT(cert-msc51-cpp,cert-msc32-c): the same moments each time
    for (int round = 0; round < rounds; ++round) {
        start();
        const auto delay = std::uniform_int_distribution<unsigned>(0, 4000)(random);
        const Child killer([pid = container().pid(), delay] {
            ::usleep(delay);
            ::kill(pid, SIGKILL);
        });
        const Outcome outcome = commit(edits());
        if (outcome.code != 0) {
            BOOST_TEST(refused(outcome, "the container's init process has ended"));
            ++refusals;
        }
    }
    BOOST_TEST_MESSAGE(rounds << " rounds: " << rounds - refusals << " done, " << refusals << " refused");
    BOOST_TEST(refusals > 0);
    BOOST_TEST(refusals < rounds);
    container().end();
}

BOOST_AUTO_TEST_SUITE_END()
