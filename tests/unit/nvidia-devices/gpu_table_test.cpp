// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "nvidia-devices/host/candidates.h"
#include "support/nvidia_host.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_gpu_table)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::NvidiaGpu;
using ogh::test::NvidiaHost;

namespace {

std::string table(const Inventory &inventory, const SelectionPolicy &policy)
{
    return to_text(list_gpus(inventory, candidates(inventory), policy), ListFormat::Table);
}

Inventory read(const NvidiaHost &host)
{
    Notes notes;
    return read_inventory(Sysroot(host.path()), notes);
}

SelectionPolicy allowing(const std::string &list)
{
    return {parse_allowed_selectors({list, "x"}), {}};
}

} // namespace

BOOST_AUTO_TEST_CASE(a_line_for_each_gpu)
{
    const NvidiaHost host(
        {NvidiaGpu::numbered("0000:5e:00.0", 0, "00"), NvidiaGpu::numbered("0000:0d:00.0", 12, "01")});
    BOOST_TEST(
        table(read(host), {}) ==
        "driver:  555.42.07\n"
        "INDEX  ADDRESS       UUID                                      MODEL              NODE           "
        "STATE\n"
        "0      0000:0d:00.0  GPU-5a1c0de0-1111-4222-8333-012345678901  NVIDIA Example 48  /dev/nvidia12\n"
        "1      0000:5e:00.0  GPU-5a1c0de0-1111-4222-8333-012345678900  NVIDIA Example 48  /dev/nvidia0\n");
}

BOOST_AUTO_TEST_CASE(what_is_not_known_is_a_dash)
{
    Inventory inventory;
    inventory.gpus.emplace_back().information.is_excluded = true;
    inventory.gpus.front().problem = "it is excluded";
    BOOST_TEST(table(inventory, {}) == "driver:  -\n"
                                       "INDEX  ADDRESS       UUID  MODEL  NODE  STATE\n"
                                       "-      0000:00:00.0  -     -      -     it is excluded\n");
}

BOOST_AUTO_TEST_CASE(programs_get_the_same_with_null_for_what_is_not_known)
{
    const NvidiaHost host({NvidiaGpu::numbered("0000:5e:00.0", 0, "00")});
    Inventory inventory = read(host);
    inventory.gpus.emplace_back().problem = "broken";
    const auto json =
        nlohmann::json::parse(to_text(list_gpus(inventory, candidates(inventory), {}), ListFormat::Json));
    BOOST_TEST(json == nlohmann::json::parse(R"({"driver":"555.42.07","gpus":[
        {"index":0,"address":"0000:5e:00.0","uuid":"GPU-5a1c0de0-1111-4222-8333-012345678900",
         "model":"NVIDIA Example 48","node":"/dev/nvidia0","state":""},
        {"index":1,"address":"0000:00:00.0","uuid":null,"model":null,"node":null,"state":"broken"}]})"));
}

BOOST_AUTO_TEST_CASE(what_the_policy_keeps_back_is_said)
{
    Inventory inventory;
    inventory.gpus.resize(3);
    inventory.gpus[1].problem = inventory.gpus[2].problem = "broken";
    const auto states = [&](const SelectionPolicy &policy) {
        const std::string text = table(inventory, policy);
        std::string letters;
        for (size_t line = text.find('\n', text.find("INDEX")) + 1; line < text.size();
             line = text.find('\n', line) + 1) {
            const std::string row = text.substr(line, text.find('\n', line) - line);
            letters += row.ends_with("not allowed") ? "n" : row.ends_with("broken") ? "b" : ".";
        }
        return letters;
    };
    BOOST_TEST(states({}) == ".bb");
    BOOST_TEST(states(allowing("all")) == ".bb");
    BOOST_TEST(states(allowing("1")) == "nbn");
    BOOST_TEST(states({{}, 1}) == ".bb");
    BOOST_TEST(states({{}, 0}) == "nnn");
}

BOOST_AUTO_TEST_SUITE_END()
