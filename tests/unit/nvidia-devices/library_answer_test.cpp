// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/host/library_answer.h"
#include "support/expect.h"
#include "support/nvidia_host.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_library_answer)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::Failure;
using ogh::test::failure_of;
using ogh::test::NvidiaGpu;
using ogh::test::NvidiaHost;

namespace {

constexpr const char *line = "0000:3b:00.0 1 3 7 0 MIG-5a1c0de0 1g.10gb";

/** GPU 0 is whole, GPU 1 is divided into 1/0 and 7/0. */
struct Host : NvidiaHost {
    Inventory inventory;

    Host()
        : NvidiaHost(
              {NvidiaGpu::numbered("0000:18:00.0", 1, "a0"), NvidiaGpu::numbered("0000:3b:00.0", 0, "a1")})
    {
        instance(0, 7, 0);
        instance(0, 1, 0);
        Notes notes;
        inventory = read_inventory(Sysroot(path()), notes);
    }

    Failure failure(const std::string &lines)
    {
        return failure_of([&] { name_instances(parse_library_answer(lines + "end\n"), inventory); });
    }

    [[nodiscard]] const MigInstance &named() const { return inventory.gpus[1].instances[1]; }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_line_for_each)
{
    BOOST_TEST(parse_library_answer("end\n").empty());
    const auto found =
        parse_library_answer(std::string(line) + "\n0000:00:01.0 0 0 0 0 MIG-GPU-a/0/0 -\nend\n");
    BOOST_TEST((found == std::vector<LibraryInstance>{{"0000:3b:00.0", 1, 3, 7, 0, "MIG-5a1c0de0", "1g.10gb"},
                                                      {"0000:00:01.0", 0, 0, 0, 0, "MIG-GPU-a/0/0", ""}}));
}

BOOST_AUTO_TEST_CASE(anything_else)
{
    const std::string good = std::string(line) + "\n";
    for (const std::string &text :
         {std::string(), good, std::string("end"), good + "end", "end\n" + good, good + "end\n\n",
          std::string("end\nend\n"), std::string("\nend\n"), std::string("END\nend\n")}) {
        const auto failure = failure_of([&] { parse_library_answer(text); });
        BOOST_TEST((failure.kind == ErrorKind::BrokenHost), text);
    }
    for (const std::string bad :
         {"x 1 3 7 0 MIG-a 1g.10gb", "0000:3b:00.0 1 3 7 MIG-a 1g.10gb",
          "0000:3b:00.0 -1 3 7 0 MIG-a 1g.10gb", "0000:3b:00.0 1 3 7 1024 MIG-a 1g.10gb",
          "0000:3b:00.0 1 3 7 0 GPU-a 1g.10gb", "0000:3b:00.0 1 3 7 0 MIG- 1g.10gb",
          "0000:3b:00.0 1 3 7 0 MIG-a,b 1g.10gb", "0000:3b:00.0 1 3 7 0 MIG-a", "0000:3b:00.0 1 3 7 0 MIG-a ",
          "0000:3b:00.0 1 3 7 0 MIG-a 1g 10gb", "0000:3b:00.0  1 3 7 0 MIG-a 1g.10gb",
          "0000:3b:00.0 1 3 7 0 MIG-a 1g:10gb", " 0000:3b:00.0 1 3 7 0 MIG-a 1g.10gb",
          "0000:3b:00.0 1 3 7 0 MIG-a \x1b[2J"}) {
        const auto failure = failure_of([&] { parse_library_answer(bad + "\nend\n"); });
        BOOST_TEST((failure.kind == ErrorKind::BrokenHost), bad);
    }
    const std::string with_nul = "0000:3b:00.0 1 3 7 0 MIG-a" + std::string(1, '\0') + " 1g.10gb\nend\n";
    BOOST_TEST((failure_of([&] { parse_library_answer(with_nul); }).kind == ErrorKind::BrokenHost));
    const std::string long_uuid = "0000:3b:00.0 1 3 7 0 MIG-" + std::string(77, 'a') + " 1g.10gb\nend\n";
    BOOST_TEST((failure_of([&] { parse_library_answer(long_uuid); }).kind == ErrorKind::BrokenHost));
    const std::string long_profile = good.substr(0, good.size() - 1) + std::string(26, 'b') + "\nend\n";
    BOOST_TEST((failure_of([&] { parse_library_answer(long_profile); }).kind == ErrorKind::BrokenHost));
}

BOOST_AUTO_TEST_CASE(names_and_groups)
{
    Host host;
    BOOST_TEST((addresses_of_divided(host.inventory) == std::vector<std::string>{"0000:3b:00.0"}));
    BOOST_TEST((host.failure(std::string(line) + "+me\n").kind == ErrorKind::None));
    BOOST_TEST((host.named().names == std::vector<std::string>{"1:3", "MIG-5a1c0de0"}));
    BOOST_TEST(host.named().group == "mig-1g.10gb.me");
    BOOST_TEST(host.inventory.gpus[1].instances[0].names.empty());
    BOOST_TEST((host.failure("0000:3b:00.0 1 3 7 0 MIG-GPU-a/1/0 -\n").kind == ErrorKind::None));
    BOOST_TEST((host.named().names == std::vector<std::string>{"1:3"}));
    BOOST_TEST(host.named().group == "");
}

BOOST_AUTO_TEST_CASE(what_the_driver_does_not_show)
{
    Host host;
    const std::string good = std::string(line) + "\n";
    for (const std::string bad : {"0000:3b:00.0 1 0 2 0 MIG-b 1g.10gb", "0000:3b:00.0 1 0 7 1 MIG-b 1g.10gb",
                                  "0000:18:00.0 0 0 1 0 MIG-b 1g.10gb", "0000:99:00.0 2 0 1 0 MIG-b 1g.10gb",
                                  "3b:00.0 1 0 1 0 MIG-b 1g.10gb", "0000:3b:00.0 0 0 1 0 MIG-b 1g.10gb"})
        BOOST_TEST((host.failure(bad + "\n").kind == ErrorKind::BrokenHost), bad);
    BOOST_TEST(host.failure("0000:3b:00.0 0 0 1 0 MIG-b -\n").says("as 0, which is 1 here"));
    for (const std::string twice : {"0000:3b:00.0 1 4 7 0 MIG-b -", "0000:3b:00.0 1 3 1 0 MIG-b -",
                                    "0000:3b:00.0 1 4 1 0 MIG-5a1c0de0 -"}) {
        const auto failure = host.failure(good + twice + "\n");
        BOOST_TEST(failure.says("is there twice"), failure.message);
    }
}

BOOST_AUTO_TEST_SUITE_END()
