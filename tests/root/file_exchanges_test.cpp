// SPDX-License-Identifier: Apache-2.0
//
// Races with somebody who renames in the image while a file is put there, tried at every single step: the hook is held
// before each of its system calls, two names are exchanged, and it goes on.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <array>
#include <filesystem>
#include <ostream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "sandbox.h"
#include "stepped.h"

BOOST_AUTO_TEST_SUITE(file_exchanges)

using namespace ogh;
using namespace ogh::test;
namespace data = boost::unit_test::data;

namespace {

/** What is exchanged with a link to a place outside. */
struct Race {
    const char *name;   ///< in the image
    const char *target; ///< in the directory outside
    FileEdit::How how;

    friend std::ostream &operator<<(std::ostream &out, const Race &race)
    {
        return out << race.name << " and a link to " << race.target
                   << (race.how == FileEdit::How::Replace ? ", replaced" : ", mounted over");
    }
};

const auto races = std::to_array<Race>({
    {"etc", "dir", FileEdit::How::Replace},
    {"etc", "dir", FileEdit::How::MountOver},
    {"etc/conf.d", "dir/inner", FileEdit::How::Replace},
    {"etc/conf.d", "dir/inner", FileEdit::How::MountOver},
    {"etc/conf.d/file", "dir/inner/file", FileEdit::How::Replace},
    {"etc/conf.d/file", "dir/inner/file", FileEdit::How::MountOver},
    {"etc/conf.d/new", "dir/inner/file", FileEdit::How::Replace},
});

struct Image : Sandbox {
    /** @return whether the step was reached */
    bool run(const Race &race, int step)
    {
        std::filesystem::remove_all(rootfs());
        file("rootfs/etc/conf.d/file", "the image's");
        link("rootfs/other", outside(race.target));
        start();
        int steps = 0;
        const auto before = [&](const Step &at) {
            steps = at.index;
            if (at.index == step)
                ::renameat2(AT_FDCWD, rootfs(race.name).c_str(), AT_FDCWD, rootfs("other").c_str(),
                            RENAME_EXCHANGE);
        };
        const std::string place =
            std::string(race.name).ends_with("new") ? "/etc/conf.d/new" : "/etc/conf.d/file";
        const Edits edits{.files = {{place, "ours", race.how}}};
        const Outcome outcome = in_stepped_child(committing(edits, container().pid()), SYS_setns, before);
        check_nothing_escaped();
        BOOST_TEST((outcome.code == 0 || (outcome.code == 1 && !outcome.text.empty())), outcome);
        (outcome.code == 0 ? succeeded : refused)++;
        return steps >= step;
    }

    int succeeded = 0;
    int refused = 0;
};

} // namespace

BOOST_DATA_TEST_CASE_F(Image, cve_2026_24260_at_no_step_an_exchange_leads_out_of_the_root, data::make(races),
                       race)
{
    int step = 0;
    while (run(race, step))
        step++;
    BOOST_TEST_MESSAGE(race << ": " << succeeded << " done, " << refused << " refused");
    BOOST_TEST(succeeded > 0);
    BOOST_TEST(step > 10);
}

BOOST_AUTO_TEST_SUITE_END()
