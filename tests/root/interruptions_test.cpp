// SPDX-License-Identifier: Apache-2.0
//
// The hook is told to end or is killed, or the container's init ends, in the middle: tried at every step, and at random.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
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

/** Which signal comes in, the container's root, and at which steps: at all, but for a signal that goes the way of one before. */
struct Interruption {
    int number;
    unsigned mapped_root;
    int each = 1;
};

std::ostream &operator<<(std::ostream &out, const Interruption &interruption)
{
    return out << "signal " << interruption.number << ", root " << interruption.mapped_root;
}

const auto told = std::to_array<Interruption>({{SIGTERM, 0}, {SIGTERM, 100000}, {SIGHUP, 0, 7}});
const auto killed = std::to_array<Interruption>({{SIGKILL, 0}, {SIGKILL, 100000}, {SIGALRM, 0, 7}});

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

    /** All that outlives a container which does not start: placeholders, links, and files that are written. */
    [[nodiscard]] Edits lasting() const
    {
        Edits all = edits();
        all.links = {{"/srv/links/one", "../a"}, {"/etc/stale", "new"}};
        all.files = {{"/etc/made", "ours", FileEdit::How::Replace},
                     {"/etc/old", "ours", FileEdit::How::Replace}};
        return all;
    }

    /** An image that has something in the place of what lasting() makes. */
    void start_lasting(unsigned mapped_root)
    {
        std::filesystem::remove_all(rootfs("etc"));
        file("rootfs/etc/old", "the image's");
        file("rootfs/etc/stale", "");
        for (const char *name : {"etc", "etc/old", "etc/stale"})
            check_call(::chown(rootfs(name).c_str(), mapped_root, mapped_root), "chown");
        start_mapped(mapped_root);
    }

    /** What the image is like after a run that nobody has interrupted. */
    [[nodiscard]] Lines image_when_done(unsigned mapped_root)
    {
        start_lasting(mapped_root);
        BOOST_TEST(done(commit(lasting())));
        return image();
    }

    /**
     * Runs it on new images, and has `interrupt` come in at one step after the other, until it is too late for it.
     * @param each every which step
     * @param check how it has ended
     */
    void interrupt_at_every_step(unsigned mapped_root, int each, const Conditions &conditions,
                                 const std::function<void(pid_t)> &interrupt,
                                 const std::function<void(const Outcome &, const Lines &before)> &check)
    {
        int step = 0;
        for (bool goes_on = true; goes_on; step += stride * each) {
            start_lasting(mapped_root);
            const Lines before = image();
            const Outcome outcome = in_stepped_child(committing(lasting(), container().pid(), conditions),
                                                     SYS_pidfd_open, [&](const Step &now) {
                                                         if (now.index == step)
                                                             interrupt(now.pid);
                                                     });
            goes_on = outcome.code != 0;
            BOOST_TEST_CONTEXT("step " << step << ", " << outcome) check(outcome, before);
            check_nothing_escaped();
        }
        BOOST_TEST(step > 50 * stride);
        BOOST_TEST_MESSAGE("interrupted at each of " << step / (stride * each) << " steps");
    }
};

/** A temporary name, or a place where something is mounted: what the manual page names. */
bool is_named(const std::string &difference)
{
    return difference.find("/.oci-gpu-hooks-") != std::string::npos ||
           difference.find(" '/srv") != std::string::npos;
}

/** What is in an image that neither was there before, nor is when all is done. */
Lines left_besides(const Lines &before, const Lines &when_done, const Lines &now)
{
    Lines left = differences(before, now);
    std::erase_if(left, [&](const std::string &line) {
        return line.starts_with("- ") ||
               std::find(when_done.begin(), when_done.end(), line.substr(2)) != when_done.end();
    });
    return left;
}

} // namespace

BOOST_DATA_TEST_CASE_F(Image, a_hook_told_to_end_at_any_step_leaves_nothing, data::make(told), interruption)
{
    const int number = interruption.number;
    const unsigned mapped_root = interruption.mapped_root;
    const std::string words = std::string("ended by SIG") + (number == SIGTERM ? "TERM" : "HUP") + " while ";
    const Lines when_done = image_when_done(mapped_root);
    interrupt_at_every_step(
        mapped_root, interruption.each, {}, [number](pid_t pid) { ::kill(pid, number); },
        [&](const Outcome &outcome, const Lines &before) {
            if (outcome.code != 0)
                BOOST_TEST(refused(outcome, words));
            const Lines &wanted = outcome.code != 0 ? before : when_done;
            BOOST_TEST(differences(wanted, image()) == Lines(), boost::test_tools::per_element());
            BOOST_TEST(places().empty() == (outcome.code != 0));
        });
}

BOOST_DATA_TEST_CASE_F(Image, a_limit_that_passes_at_any_step_leaves_nothing, data::make(mapped_roots),
                       mapped_root)
{
    const Lines when_done = image_when_done(mapped_root);
    // Long enough for the whole way, and short enough to be waited for.
    constexpr std::chrono::milliseconds limit{sanitized ? 800 : 100};
    interrupt_at_every_step(
        mapped_root, 1, {.limit = limit}, [&](pid_t /*pid*/) { ::usleep(1000 * (limit.count() + 1)); },
        [&](const Outcome &outcome, const Lines &before) {
            if (outcome.code != 0)
                BOOST_TEST(refused(outcome, "gave up after 0 s while "));
            const Lines &wanted = outcome.code != 0 ? before : when_done;
            BOOST_TEST(differences(wanted, image()) == Lines(), boost::test_tools::per_element());
            BOOST_TEST(places().empty() == (outcome.code != 0));
        });
}

BOOST_DATA_TEST_CASE_F(Image, what_a_killed_hook_leaves_is_named_and_goes_with_the_next_run,
                       data::make(killed), interruption)
{
    const int number = interruption.number;
    const unsigned mapped_root = interruption.mapped_root;
    const Lines when_done = image_when_done(mapped_root);
    interrupt_at_every_step(
        mapped_root, interruption.each, {}, [number](pid_t pid) { ::kill(pid, number); },
        [&](const Outcome &outcome, const Lines &before) {
            if (outcome.code != 0) {
                BOOST_TEST(outcome.code == 128 + number);
                for (const std::string &line : left_besides(before, when_done, image()))
                    BOOST_TEST(is_named(line), line);
            }
            BOOST_TEST(done(commit(lasting())));
            BOOST_TEST(differences(when_done, image()) == Lines(), boost::test_tools::per_element());
        });
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
    constexpr int rounds = sanitized ? 100 : 300;
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
