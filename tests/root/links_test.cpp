// SPDX-License-Identifier: Apache-2.0
//
// Symlinks of the image on the way to a target.
#include <sys/mount.h>

#include <array>
#include <filesystem>
#include <ostream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "sandbox.h"

BOOST_AUTO_TEST_SUITE(links)

using namespace ogh;
using namespace ogh::test;
namespace data = boost::unit_test::data;

namespace {

/** A link at `name` of the image; OUTSIDE in its target stands for the path of the sentinel on the host. */
struct Link {
    const char *name;
    const char *target;
    const char *expected; ///< where /srv/x is then mounted, or, without a `/` in front, why not

    friend std::ostream &operator<<(std::ostream &out, const Link &link)
    {
        return out << link.name << " -> " << link.target;
    }
};

struct Image : Sandbox {
    Image() { directory("rootfs/elsewhere/x"); }

    [[nodiscard]] std::string with_outside(std::string text) const
    {
        const std::string word = "OUTSIDE";
        if (const size_t at = text.find(word); at != std::string::npos)
            text.replace(at, word.size(), outside());
        return text;
    }

    void plant(const Link &link)
    {
        if (std::string(link.name).starts_with("srv/"))
            directory("rootfs/srv");
        TempDirectory::link("rootfs/" + std::string(link.name), with_outside(link.target));
    }

    void expect(const Link &link, const std::string &place)
    {
        start();
        const Outcome outcome = commit(data_at({place}));
        const std::string expected = with_outside(link.expected);
        if (expected.starts_with('/')) {
            BOOST_TEST(done(outcome));
            BOOST_TEST(places() == Lines{expected}, boost::test_tools::per_element());
        } else {
            BOOST_TEST(refused(outcome, expected));
            BOOST_TEST(places() == Lines(), boost::test_tools::per_element());
        }
    }

    /** `length` links one after the other, the first one at `name`, the last one to `target`. */
    void chain(const std::string &name, int length, const std::string &target)
    {
        directory("rootfs/links");
        for (int i = 1; i <= length; ++i)
            TempDirectory::link("rootfs/" + (i == 1 ? name : "links/" + std::to_string(i)),
                                i == length ? target : "/links/" + std::to_string(i + 1));
    }
};

constexpr const char *nowhere = "it is a symlink that leads nowhere";
constexpr const char *too_many = "Too many levels of symbolic links";

const auto planted_links = std::to_array<Link>({
    // out of the root, to something that the host has and the image has not
    {"srv", "OUTSIDE", nowhere},
    {"srv", "../../../../../../../../../../../..OUTSIDE", nowhere},
    {"srv/x", "OUTSIDE", nowhere},
    {"srv/x", "../../../../../../../../../../../..OUTSIDE/data", nowhere},
    {"srv/x", "OUTSIDE/data", nowhere},
    {"srv/x", "OUTSIDE/not-there", nowhere},
    {"srv", "/etc", nowhere},
    // dangling
    {"srv", "nowhere", nowhere},
    {"srv", "/elsewhere/nowhere", nowhere},
    {"srv/x", "nowhere", nowhere},
    {"srv/x", "/nowhere", nowhere},
    // inside the root
    {"srv", "/elsewhere", "/elsewhere/x"},
    {"srv", "../../../../elsewhere", "/elsewhere/x"},
    {"srv/x", "/elsewhere/x", "/elsewhere/x"},
    {"srv/x", "../../../../elsewhere", "/elsewhere"},
    {"srv/x", "../elsewhere/../elsewhere/x", "/elsewhere/x"},
    // the root itself as the directory: what is made is made there
    {"srv", "/", "/x"},
    {"srv", ".", "/x"},
    {"srv", "../../..", "/x"},
    // the root itself as the target
    {"srv/x", "/", "it is the container's root itself"},
    {"srv/x", "..", "it is the container's root itself"},
    {"srv/x", "../../../..", "it is the container's root itself"},
    // a link to itself
    {"srv", "srv", too_many},
    {"srv/x", "x", too_many},
});

} // namespace

BOOST_DATA_TEST_CASE_F(Image, a_link_is_followed_inside_the_root_or_refused, data::make(planted_links),
                       planted)
{
    plant(planted);
    const Lines before = image();
    expect(planted, "/srv/x");
    if (planted.expected[0] != '/')
        BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE_F(Image, a_link_out_leads_to_what_the_image_has_there, data::make({"srv", "srv/x"}),
                       name)
{
    directory("rootfs" + outside("data/x"));
    const std::string target = std::string(name) == "srv" ? "OUTSIDE/data" : "OUTSIDE/data/x";
    for (const std::string &way : {target, "../../../../../../../../../../../.." + target}) {
        std::filesystem::remove_all(rootfs("srv"));
        plant({name, way.c_str(), ""});
        expect({name, way.c_str(), "OUTSIDE/data/x"}, "/srv/x");
        check_nothing_escaped();
    }
}

BOOST_FIXTURE_TEST_CASE(a_link_in_the_middle_is_followed_inside, Image)
{
    directory("rootfs/opt");
    TempDirectory::link("rootfs/opt/shared", outside());
    directory("rootfs" + outside());
    expect({"", "", "OUTSIDE/directory/x"}, "/opt/shared/directory/x");
}

BOOST_FIXTURE_TEST_CASE(a_target_that_links_to_its_own_directory_is_refused, Image)
{
    plant({"srv/x", ".", ""});
    start();
    BOOST_TEST(refused(commit(data_at({"/srv/x"})), "'/srv/x'"));
}

// The kernel follows forty. But a lookup that it has to begin again, since something else was renamed or mounted
// meanwhile, goes on counting.
const auto chain_lengths = data::make({20, 41});

BOOST_DATA_TEST_CASE_F(Image, links_are_followed_and_more_than_forty_are_not, chain_lengths, length)
{
    directory("rootfs/srv");
    chain("srv/x", length, "/elsewhere/x");
    expect({"", "", length == 20 ? "/elsewhere/x" : too_many}, "/srv/x");
}

BOOST_DATA_TEST_CASE_F(Image, links_to_the_directory_are_followed_and_more_than_forty_are_not, chain_lengths,
                       length)
{
    chain("srv", length, "/elsewhere");
    expect({"", "", length == 20 ? "/elsewhere/x" : too_many}, "/srv/x");
}

BOOST_FIXTURE_TEST_CASE(links_of_directory_and_target_count_together, Image)
{
    directory("rootfs/real");
    chain("srv", 20, "/real");
    for (int i = 1; i <= 21; ++i)
        TempDirectory::link("rootfs/real/" + (i == 1 ? "x" : std::to_string(i)),
                            i == 21 ? "/elsewhere/x" : std::to_string(i + 1));
    expect({"", "", too_many}, "/srv/x");
}

BOOST_FIXTURE_TEST_CASE(a_target_in_what_was_mounted_before_is_refused, Image)
{
    directory("rootfs/srv/b");
    plant({"srv/a", "b", ""});
    plant({"srv/c", "/elsewhere/x/sub", ""});
    start();
    Lines before = image();
    // Not the shared mount of somebody: what the first of the two has put there.
    const Outcome same = commit(data_at({"/srv/a", "/srv/b"}));
    BOOST_TEST(refused(same, "cannot mount on '/srv/b' in the container"));
    BOOST_TEST(same.text.find("shared") == std::string::npos, same);
    const Outcome below = commit(data_at({"/elsewhere/x", "/srv/c"}));
    BOOST_TEST(refused(below, "cannot mount on '/srv/c' in the container"));
    BOOST_TEST(below.text.find("shared") == std::string::npos, below);
    BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
}

const auto magic_links = std::to_array<const char *>({
    "/proc/self/root",
    "/proc/self/root/tmp",
    "/proc/self/cwd",
    "/proc/self/fd/1",
    "/proc/thread-self/root/srv",
});

struct ImageWithProc : Image {
    void expect_refused(const char *name, const std::string &target, const std::string &words)
    {
        directory("rootfs/proc");
        plant({name, target.c_str(), ""});
        start({.set_up = [](const std::string &rootfs) { make_mount("proc", rootfs + "/proc", "proc"); }});
        BOOST_TEST(refused(commit(data_at({"/srv/x"})), words));
        BOOST_TEST(places() == Lines(), boost::test_tools::per_element());
    }
};

BOOST_DATA_TEST_CASE_F(ImageWithProc, magic_links_are_refused,
                       data::make(magic_links) * data::make({"srv", "srv/x"}), target, name)
{
    // The kernel has another word where it merely does not know how to stay in the root.
    expect_refused(name, target, too_many);
}

BOOST_DATA_TEST_CASE_F(ImageWithProc, magic_links_of_other_processes_are_refused,
                       data::make({"srv", "srv/x"}), name)
{
    expect_refused(name, "/proc/1/root", "in the container: ");
}

BOOST_AUTO_TEST_SUITE_END()
