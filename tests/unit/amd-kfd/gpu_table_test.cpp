// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "amd-kfd/candidates.h"
#include "support/amd_host.h"

BOOST_AUTO_TEST_SUITE(amd_kfd_gpu_table)

using namespace ogh;
using namespace ogh::amd_kfd;
using ogh::test::AmdGpu;
using ogh::test::AmdHost;

namespace {

std::string list(const std::vector<AmdGpu> &gpus, const SelectionPolicy &policy = {})
{
    const AmdHost host(gpus);
    Notes notes;
    Inventory inventory = read_inventory(Sysroot(host.path()), notes);
    read_memory(Sysroot(host.path()), inventory);
    return to_text(list_gpus(inventory, candidates(inventory), policy), ListFormat::Table);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_line_for_each_gpu)
{
    BOOST_TEST(
        list({AmdGpu::raphael(2, 2, 130), AmdGpu()}) ==
        "INDEX  ADDRESS       RENDER      CARD   GFX      TYPE        VRAM       ID                    HINT  "
        "    "
        "                       STATE\n"
        "0      0000:0d:00.0  renderD129  card1  gfx1100  discrete    20464 MiB  GPU-0BADC0DE12345678  -\n"
        "1      0000:7a:00.0  renderD130  card2  gfx1036  integrated  512 MiB    -                     "
        "HSA_OVERRIDE_GFX_VERSION=10.3.0\n");
}

BOOST_AUTO_TEST_CASE(what_is_not_known_is_a_dash)
{
    AmdGpu old;
    old.gfx = 0;
    old.render_minor = 0;
    old.unique_id = 0;
    const std::string text = list({old});
    BOOST_TEST(
        text.find("\n0      0000:0d:00.0  -       -     -    discrete  -     -   -     KFD's node 1 has no "
                  "render node\n") != std::string::npos,
        text);
}

BOOST_AUTO_TEST_CASE(what_the_policy_keeps_back_is_said)
{
    const std::string text = list(AmdGpu::mi210(), {parse_allowed_selectors({"1,card1", "x"}), {}});
    size_t count = 0;
    for (size_t at = text.find("not allowed"); at != std::string::npos; at = text.find("not allowed", at + 1))
        ++count;
    BOOST_TEST(count == 6U, text);
    BOOST_TEST(list({AmdGpu()}, {{}, 0}).ends_with("  not allowed\n"));
    BOOST_TEST(!list({AmdGpu()}, {{}, 1}).ends_with("  not allowed\n"));
}

BOOST_AUTO_TEST_SUITE_END()
