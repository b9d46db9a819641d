// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "amd-kfd/candidates.h"
#include "support/amd_host.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(amd_kfd_candidates)

using namespace ogh;
using namespace ogh::amd_kfd;
using ogh::test::AmdGpu;
using ogh::test::AmdHost;
using ogh::test::failure_of;

namespace {

using Places = std::vector<size_t>;

/** A host and its policy. */
struct Case {
    AmdHost host;
    SelectionPolicy policy = {};
    Notes notes = {};

    explicit Case(const std::vector<AmdGpu> &gpus) : host(gpus) {}

    Places choose(const std::string &value)
    {
        const Selectors selectors = parse_selectors({value, "annotation 'k'"});
        Notes ignored;
        const Inventory inventory = read_inventory(Sysroot(host.path()), ignored);
        return first_of(resolve(selectors, candidates(inventory), policy, notes));
    }

    ogh::test::Failure refuse(const std::string &value)
    {
        return failure_of([&] { choose(value); });
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(every_kind_of_name)
{
    AmdGpu gpu = AmdGpu::mi300x(2, "0000:1b:00.0", 0, 136);
    gpu.unique_id = 0x0BADC0DE00000001;
    AmdGpu other = AmdGpu::mi300x(3, "0001:1b:00.0", 0, 144);
    other.gfx = 110000;
    other.drm_unique_id = 7;
    Case host({gpu, other});
    for (const char *name :
         {"0", "0-0", "0000:1b:00.0", "1b:00.0", "GPU-0BADC0DE00000001", "gpu-0badc0de00000001",
          "0x0badc0de00000001", "0xbadc0de00000001", "0XBADC0DE00000001", "GPU-F00DFACE00000088",
          "0xf00dface00000088", "renderD136", "card9", "0:0", "gfx942"})
        BOOST_TEST((host.choose(name) == Places{0}), name);
    for (const char *name :
         {"1", "0001:1b:00.0", "renderd144", "CARD17", "1:0", "GFX1100", "0x7", "GPU-0000000000000007"})
        BOOST_TEST((host.choose(name) == Places{1}), name);
    for (const char *name : {"all", "dgpu", "0-1", "card9,renderD144", "any:2"})
        BOOST_TEST((host.choose(name) == Places{0, 1}), name);
    for (const char *name : {"2", "GPU-F00DFACE0000008", "0x0", "GPU-0000000000000000", "renderD128", "card0",
                             "0:1", "2:0", "igpu", "gfx90a", "0001:1b:00.1", "amdgpu_xcp_0"})
        BOOST_TEST((host.refuse(name).kind == ErrorKind::NotAvailable), name);
    BOOST_TEST(host.refuse("2").message ==
               "no GPU '2': this host has 0 (GPU-0BADC0DE00000001), 1 (GPU-7E57000000000A03)");
}

BOOST_AUTO_TEST_CASE(an_integrated_one_has_to_be_named_beside_a_discrete_one)
{
    Case host({AmdGpu(), AmdGpu::raphael(2, 2, 130)});
    for (const char *value : {"any:1", "dgpu", "gfx1100"})
        BOOST_TEST((host.choose(value) == Places{0}), value);
    for (const char *value : {"1", "igpu", "gfx1036", "renderD130", "card2", "1:0", "7a:00.0"})
        BOOST_TEST((host.choose(value) == Places{1}), value);
    for (const char *value : {"all,1", "all,igpu", "0,1", "dgpu,igpu"})
        BOOST_TEST((host.choose(value) == Places{0, 1}), value);
    BOOST_TEST(host.notes.empty());
    BOOST_TEST((host.choose("all") == Places{0}));
    BOOST_REQUIRE(host.notes.size() == 1U);
    BOOST_TEST((host.notes.front().level == LogLevel::Info));
    BOOST_TEST(host.notes.front().text ==
               "GPU 1 (0000:7a:00.0) is left out: it is integrated, and this host has "
               "discrete ones; it can be given by name, or as 'igpu'");
    BOOST_TEST((host.refuse("any:2").kind == ErrorKind::NotAvailable));
}

BOOST_AUTO_TEST_CASE(integrated_ones_alone_are_not_left_out)
{
    Case host({AmdGpu::raphael(1, 0, 128)});
    BOOST_TEST((host.choose("all") == Places{0}));
    BOOST_TEST((host.choose("any:1") == Places{0}));
    BOOST_TEST(host.notes.empty());
}

BOOST_AUTO_TEST_CASE(an_integrated_one_does_not_stand_in_for_a_discrete_one_that_is_not_in_order)
{
    AmdGpu broken;
    broken.render_minor = 0;
    Case host({broken, AmdGpu::raphael(2, 0, 128)});
    for (const char *value : {"any:1", "all"}) {
        const auto failure = host.refuse(value);
        BOOST_TEST((failure.kind == ErrorKind::NotAvailable), value);
        BOOST_TEST(
            failure.says("'any' and 'all' give none, only a name does; this host has 1 (0000:7a:00.0); "
                         "left out: 0 ("),
            failure.message);
        BOOST_TEST(failure.says("KFD's node 1 has no render node"), failure.message);
    }
    for (const char *value : {"0", "dgpu"})
        BOOST_TEST((host.refuse(value).kind == ErrorKind::BrokenHost), value);
    BOOST_TEST((host.refuse("any:dgpu:1").kind == ErrorKind::NotAvailable));
    for (const char *value : {"1", "igpu", "any:igpu:1"})
        BOOST_TEST((host.choose(value) == Places{1}), value);
}

BOOST_AUTO_TEST_CASE(a_unique_id_of_0_is_none)
{
    Case host({AmdGpu::raphael(1, 0, 128)});
    for (const char *value : {"0x0", "0x0000000000000000", "GPU-0000000000000000", "GPU-"})
        BOOST_TEST(host.refuse(value).says("this host has 0 (0000:7a:00.0)"), value);
    BOOST_TEST(uuid_text(0).empty());
    BOOST_TEST(uuid_text(0x42) == "GPU-0000000000000042");
    BOOST_TEST(uuid_text(0xF00DFACE00000047) == "GPU-F00DFACE00000047");
}

BOOST_AUTO_TEST_CASE(partitions)
{
    Case host(AmdGpu::cpx());
    BOOST_TEST((host.choose("0:3") == Places{3}));
    BOOST_TEST((host.choose("7:7") == Places{63}));
    BOOST_TEST((host.choose("4:0,renderD177") == Places{32, 33}));
    BOOST_TEST((host.choose("0001:1b:00.0") == Places{32, 33, 34, 35, 36, 37, 38, 39}));
    BOOST_TEST((host.choose("GPU-7E57000000000A41") == Places{63}));
    BOOST_TEST((host.choose("card24") == Places{23}));
    BOOST_TEST(host.choose("all").size() == 64U);
    BOOST_TEST((host.choose("any:2") == Places{0, 1}));
    for (const char *value : {"0:8", "8:0", "64", "renderD160"})
        BOOST_TEST((host.refuse(value).kind == ErrorKind::NotAvailable), value);
    // DRM has the id of the whole.
    BOOST_TEST((host.choose("GPU-F00DFACE00000088") == Places{8, 9, 10, 11, 12, 13, 14, 15}));
}

BOOST_AUTO_TEST_CASE(what_lists_say_means_one_gpu)
{
    const auto description = [](const std::vector<AmdGpu> &gpus) {
        Notes notes;
        const AmdHost host(gpus);
        return candidates(read_inventory(Sysroot(host.path()), notes)).back().description;
    };
    AmdGpu second = AmdGpu::mi300x(3, "0000:1b:00.0", 1, 129);
    second.platform_device = "amdgpu_xcp_0";
    std::vector<AmdGpu> gpus{AmdGpu::mi300x(2, "0000:1b:00.0", 0, 128), second};
    BOOST_TEST(description(gpus) == "GPU-7E57000000000A03");
    for (AmdGpu &gpu : gpus)
        gpu.unique_id = 0xF00DFACE00000047;
    BOOST_TEST(description(gpus) == "renderD129");
    gpus.back().address = "0000:3d:00.0";
    gpus.back().platform_device.clear();
    BOOST_TEST(description(gpus) == "0000:3d:00.0");
}

BOOST_AUTO_TEST_CASE(one_id_for_all_partitions_of_an_old_kernel)
{
    std::vector<AmdGpu> gpus{AmdGpu::mi300x(2, "0000:1b:00.0", 0, 128),
                             AmdGpu::mi300x(3, "0000:1b:00.0", 1, 129),
                             AmdGpu::mi300x(4, "0000:3d:00.0", 0, 136)};
    gpus[1].platform_device = "amdgpu_xcp_0";
    for (AmdGpu &gpu : gpus)
        gpu.drm_unique_id = 0;
    gpus[0].unique_id = gpus[1].unique_id = 0xF00DFACE00000047;
    Case host(gpus);
    BOOST_TEST((host.choose("0xF00DFACE00000047") == Places{0, 1}));
}

BOOST_AUTO_TEST_CASE(problems_are_those_of_the_gpu)
{
    AmdGpu broken{2, "0000:7a:00.0", 2, 130};
    Case host({AmdGpu(), broken});
    std::filesystem::remove(host.host.path("sys/class/drm/renderD130"));
    for (const char *value :
         {"all", "any:1", "dgpu", "any:dgpu:1", "any:gfx1100:1", "dgpu,any:1", "gfx1100,dgpu"}) {
        host.notes.clear();
        if (std::string_view(value) == "dgpu,any:1")
            host.refuse(value);
        else
            BOOST_TEST((host.choose(value) == Places{0}), value);
        BOOST_REQUIRE_MESSAGE(host.notes.size() == 1U, value);
        BOOST_TEST((host.notes.front().level == LogLevel::Warning));
        BOOST_TEST(host.notes.front().text == "GPU 1 (0000:7a:00.0) is left out: the host has no renderD130, "
                                              "which KFD's node 2 refers to");
    }
    const auto failure = host.refuse("1");
    BOOST_TEST((failure.kind == ErrorKind::BrokenHost));
    BOOST_TEST(failure.message == "no GPU '1': the host has no renderD130, which KFD's node 2 refers to");
}

BOOST_AUTO_TEST_CASE(a_policy_by_card_or_id)
{
    AmdGpu apu = AmdGpu::raphael(2, 2, 130);
    apu.drm_unique_id = 7;
    Case host({AmdGpu(), apu});
    for (const char *allow : {"card2", "igpu", "0x7"}) {
        host.policy.allow = parse_allowed_selectors({allow, "option '--allow'"});
        BOOST_TEST((host.choose("1") == Places{1}), allow);
        BOOST_TEST((host.refuse("0").kind == ErrorKind::Denied), allow);
    }
}

BOOST_AUTO_TEST_SUITE_END()
