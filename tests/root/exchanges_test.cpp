// SPDX-License-Identifier: Apache-2.0
//
// Races with somebody who renames in the image, tried at every single step: the hook is held before each of its
// system calls, two names are exchanged, and it goes on.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>
#include <ostream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "base/unique_fd.h"
#include "exchangers.h"
#include "image/root_fs.h"
#include "sandbox.h"
#include "stepped.h"

BOOST_AUTO_TEST_SUITE(exchanges)

using namespace ogh;
using namespace ogh::test;
namespace data = boost::unit_test::data;

namespace {

/** What is exchanged, and how the image looks before. */
struct Race {
    const char *what;
    const char *one;   ///< name in the image
    const char *other; ///< a link with the target below, or a FIFO where there is none
    const char *target;
    bool existing; ///< whether the directory that is asked for is in the image

    friend std::ostream &operator<<(std::ostream &out, const Race &race)
    {
        return out << race.what << (*race.target == '\0' ? ", FIFO" : ", link to ") << race.target
                   << (race.existing ? "" : ", not in the image");
    }
};

const auto races = std::to_array<Race>({
    {"the target", "srv/x", "srv/y", "/", true},
    {"the target", "srv/x", "srv/y", "OUTSIDE/data", true},
    {"the target", "srv/x", "srv/y", "../../../../../../../..OUTSIDE/data", true},
    {"the target", "srv/x", "srv/y", "/proc/self/root", true},
    {"the target", "srv/x", "srv/y", "/mirror", true},
    {"the target", "srv/x", "srv/y", "", true},
    {"the target that was made", "srv/x", "srv/y", "", false},
    {"the target that was made", "srv/x", "srv/y", "/", false},
    {"the target that was made", "srv/x", "srv/y", "OUTSIDE/data", false},
    {"its directory", "srv", "other", "/", true},
    {"its directory", "srv", "other", "OUTSIDE", true},
    {"its directory", "srv", "other", "/mirror", true},
    {"its directory", "srv", "other", "/", false},
    {"its directory", "srv", "other", "OUTSIDE", false},
    {"its directory", "srv", "other", "../../../../../../../..OUTSIDE", false},
    {"its directory", "srv", "other", "/mirror", false},
    {"the directory that was made", "new", "other", "OUTSIDE", false},
});

class Image : public Sandbox {
public:
    /** A run for every step, in each of which names are exchanged before that step and the `more` after it. */
    void try_every_step(const Race &race, int more)
    {
        constexpr int stride = sanitized ? 5 : 1;
        for (int step = 0; run(race, step, step + more); step += stride)
            continue;
        BOOST_TEST_MESSAGE(race << ": " << succeeded_ << " done, " << refused_ << " refused");
        BOOST_TEST(succeeded_ + refused_ > 20 / stride); // tables of mounts are read before it enters
    }

private:
    /** @return whether the step `first` was reached */
    bool run(const Race &race, int first, int last)
    {
        std::filesystem::remove_all(rootfs());
        plant(race);
        start();
        int last_open = 0;
        int steps = 0;
        const auto before = [&](const Step &step) {
            steps = step.index;
            if (step.number == SYS_openat2)
                last_open = step.index;
            if (step.index >= first && step.index <= last)
                swap(race);
        };
        const Outcome outcome =
            in_stepped_child(committing(data_at({place(race)}), container().pid()), SYS_setns, before);
        check(race, outcome, first <= last_open && first == last);
        return steps >= first;
    }

    [[nodiscard]] static std::string place(const Race &race)
    {
        return std::string(race.one) == "new" ? "/new/x" : "/srv/x";
    }

    void plant(const Race &race)
    {
        directory("rootfs/mirror/x");
        directory(std::string(race.one) == "new" ? "rootfs" : "rootfs/srv");
        if (race.existing)
            directory("rootfs" + place(race));
        std::string target = race.target;
        if (const size_t at = target.find("OUTSIDE"); at != std::string::npos)
            target.replace(at, 7, outside());
        if (target.empty())
            check_call(::mkfifo(rootfs(race.other).c_str(), 0600), "mkfifo");
        else
            link("rootfs/" + std::string(race.other), target);
    }

    /** Before the hook has made the one name there is nothing to exchange. */
    void swap(const Race &race)
    {
        ::renameat2(AT_FDCWD, rootfs(race.one).c_str(), AT_FDCWD, rootfs(race.other).c_str(),
                    RENAME_EXCHANGE);
    }

    void check(const Race &race, const Outcome &outcome, bool has_looked_afterwards)
    {
        check_nothing_escaped();
        if (outcome.code != 0) {
            BOOST_TEST((outcome.code == 1 && !outcome.text.empty()), outcome);
            ++refused_;
            return;
        }
        ++succeeded_;
        if (!has_looked_afterwards) // exchanged after all was done: nobody can prevent that
            return;
        const std::string at = place(race) + "/file";
        const Outcome seen = container().inside([&] {
            check_call(::open(at.c_str(), O_RDONLY), "open");
            return std::string();
        });
        BOOST_TEST(seen == Outcome(), "it said it was done, but in the container: " << seen);
    }

    int succeeded_ = 0;
    int refused_ = 0;
};

} // namespace

BOOST_DATA_TEST_CASE_F(Image, at_no_step_an_exchange_leads_out_of_the_root, data::make(races), race)
{
    try_every_step(race, 0);
}

BOOST_DATA_TEST_CASE_F(Image, nor_does_an_exchange_there_and_back, data::make(races), race)
{
    try_every_step(race, 1);
}

BOOST_FIXTURE_TEST_CASE(cve_2024_45310_nothing_but_a_placeholder_is_given_away, TempDirectory)
{
    directory("parent");
    link("parent/other", "/"); // which would lead to the parent, if it were followed
    const UniqueFd parent(::open(path("parent").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto exchange = [&](const Step &step) {
        if (step.number == SYS_openat2)
            ::renameat2(parent.get(), "new", parent.get(), "other", RENAME_EXCHANGE);
    };
    const auto make = [&] {
        make_placeholder(parent.get(), "new", Kind::Directory, FsCredentials{4711, 4711}, "/new");
        return std::string();
    };
    BOOST_TEST(refused(in_stepped_child(make, SYS_mkdirat, exchange), "cannot open '/new' in the container"));
    struct stat status {};
    check_call(::stat(path("parent").c_str(), &status), "stat");
    BOOST_TEST(status.st_uid == ::geteuid());
}

BOOST_AUTO_TEST_SUITE_END()
