// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "request/visible_devices.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(visible_devices)

using namespace ogh;
using ogh::test::failure_of;

namespace {

using Environment = std::vector<std::string>;

Config with(Environment environment)
{
    Config config;
    config.environment = std::move(environment);
    return config;
}

/** In the grammar of selectors; "-" if nothing is asked for. */
std::string text_of(const std::optional<Selectors> &selectors)
{
    if (!selectors)
        return "-";
    std::string text = selectors->all ? "all" : selectors->none ? "none" : "";
    if (selectors->any != 0)
        text = "any:" + (selectors->any_of.empty() ? "" : selectors->any_of + ":") +
               std::to_string(selectors->any);
    for (const Selector &selector : selectors->named)
        text += (text.empty() ? "" : ",") + selector.text;
    return text;
}

std::string nvidia(Environment environment)
{
    return text_of(nvidia_visible_devices(with(std::move(environment))));
}

std::string amd(Environment environment)
{
    return text_of(amd_visible_devices(with(std::move(environment))));
}

std::string nvidia_value(const std::string &value)
{
    return nvidia({"NVIDIA_VISIBLE_DEVICES=" + value});
}

std::string amd_value(const std::string &value)
{
    return amd({"AMD_VISIBLE_DEVICES=" + value});
}

} // namespace

BOOST_AUTO_TEST_CASE(nvidia_unset_empty_and_void_ask_for_nothing)
{
    BOOST_TEST(nvidia({"PATH=/bin", "NVIDIA_VISIBLE_DEVICES_=all"}) == "-");
    for (const char *value : {"", " ", ",", " , ", "void", "0,void", "all,void", "void,all"})
        BOOST_TEST(nvidia_value(value) == "-", value);
}

BOOST_AUTO_TEST_CASE(nvidia_words)
{
    BOOST_TEST(nvidia_value("all") == "all");
    BOOST_TEST(nvidia_value("none") == "none");
    BOOST_TEST(nvidia_value("0,none,all") == "none");
    BOOST_TEST(nvidia_value("0, all ,none") == "all");
}

BOOST_AUTO_TEST_CASE(nvidia_items)
{
    BOOST_TEST(nvidia_value(" 0,, 1 ,0") == "0,1");
    BOOST_TEST(
        nvidia_value("GPU-5a1c0de0-1111-4222-8333-0123456789ab,00000000:5E:00.0,0:1,MIG-1,MIG-GPU-2/3/4") ==
        "GPU-5a1c0de0-1111-4222-8333-0123456789ab,00000000:5E:00.0,0:1,MIG-1,MIG-GPU-2/3/4");
}

BOOST_AUTO_TEST_CASE(nvidia_items_that_name_nothing_are_errors)
{
    for (const char *value :
         {"env", "0,env", "allowed", "any:0", "any", "any:1,any:2", "nvidia.com/gpu=0", "01", "a b", "1-0"}) {
        const auto failure = failure_of([&] { nvidia_value(value); });
        BOOST_TEST((failure.kind == ErrorKind::Usage), value);
        BOOST_TEST(failure.says("environment variable 'NVIDIA_VISIBLE_DEVICES'"), failure.message);
    }
}

BOOST_AUTO_TEST_CASE(nvidia_any)
{
    BOOST_TEST(nvidia_value("any:1") == "any:1");
    BOOST_TEST(nvidia_value("any:48g:2, any:48g:2 ,3") == "any:48g:2,3");
}

BOOST_AUTO_TEST_CASE(a_count_may_mean_any)
{
    const auto counted = [](const std::string &value) {
        return text_of(nvidia_visible_devices(with({"NVIDIA_VISIBLE_DEVICES=" + value}), CountMeans::Any));
    };
    BOOST_TEST(counted("0") == "any:1");
    BOOST_TEST(counted("0,1,2") == "any:3");
    for (const char *value : {"1", "1,0", "0,2", "0,1,3", "all", "none", "any:2", "GPU-1"})
        BOOST_TEST(counted(value) == nvidia_value(value), value);
    BOOST_TEST(nvidia_value("0,1,2") == "0,1,2");
}

BOOST_AUTO_TEST_CASE(of_equal_names_the_last_counts)
{
    BOOST_TEST(nvidia({"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_VISIBLE_DEVICES=1"}) == "1");
    BOOST_TEST(amd({"AMD_VISIBLE_DEVICES=0", "AMD_VISIBLE_DEVICES=1"}) == "1");
}

BOOST_AUTO_TEST_CASE(a_cuda_image_of_old_asks_for_all_by_saying_nothing)
{
    BOOST_TEST(nvidia({"CUDA_VERSION=9.0.176"}) == "all");
    BOOST_TEST(nvidia({"CUDA_VERSION=9.0.176", "NVIDIA_REQUIRE_CUDA="}) == "all");
    BOOST_TEST(nvidia({"CUDA_VERSION="}) == "-");
    BOOST_TEST(nvidia({"CUDA_VERSION=12.1", "NVIDIA_REQUIRE_CUDA=cuda>=12.1"}) == "-");
    BOOST_TEST(nvidia({"CUDA_VERSION=9.0.176", "NVIDIA_VISIBLE_DEVICES="}) == "-");
    BOOST_TEST(nvidia({"CUDA_VERSION=9.0.176", "NVIDIA_VISIBLE_DEVICES=1"}) == "1");
}

BOOST_AUTO_TEST_CASE(nvidia_variables_of_swarm_mode_do_not_count)
{
    BOOST_TEST(nvidia({"NVIDIA_VISIBLE_DEVICES=0", "DOCKER_RESOURCE_GPU=1"}) == "0");
}

BOOST_AUTO_TEST_CASE(amd_unset_empty_and_void_ask_for_nothing)
{
    BOOST_TEST(amd({"NVIDIA_VISIBLE_DEVICES=all", "AMD_VISIBLE_DEVICES"}) == "-");
    for (const char *value : {"", " ", ",", "void"})
        BOOST_TEST(amd_value(value) == "-", value);
}

BOOST_AUTO_TEST_CASE(amd_words_stand_alone)
{
    for (const char *value : {"all", "All", "ALL", " all "})
        BOOST_TEST(amd_value(value) == "all", value);
    BOOST_TEST(amd_value("none") == "none");
    for (const char *value : {"all,0", "0,all", "none,0", "env", "any:1"}) {
        const auto failure = failure_of([&] { amd_value(value); });
        BOOST_TEST((failure.kind == ErrorKind::Usage), value);
        BOOST_TEST(failure.says("environment variable 'AMD_VISIBLE_DEVICES'"), failure.message);
    }
}

BOOST_AUTO_TEST_CASE(amd_items)
{
    BOOST_TEST(amd_value("0-3,8, 17-20 ,8,") == "0-3,8,17-20");
    BOOST_TEST(amd_value("0x0BADC0DE12345678,GPU-F00DFACE00000047") ==
               "0x0BADC0DE12345678,GPU-F00DFACE00000047");
    BOOST_TEST(amd_value("0badc0de12345678,123456789,12345678") == "0x0badc0de12345678,0x123456789,12345678");
    for (const char *value : {"3-1", "0-", "x=y"})
        BOOST_TEST((failure_of([&] { amd_value(value); }).kind == ErrorKind::Usage), value);
}

BOOST_AUTO_TEST_CASE(amd_takes_the_last_of_its_variables)
{
    BOOST_TEST(amd({"AMD_VISIBLE_DEVICES=0", "DOCKER_RESOURCE_AMD_GPU=1"}) == "1");
    BOOST_TEST(amd({"DOCKER_RESOURCE_AMD_GPU=1", "AMD_VISIBLE_DEVICES=0", "DOCKER_RESOURCE=2"}) == "0");
    BOOST_TEST(failure_of([] { amd({"DOCKER_RESOURCE_AMD_GPU=any:1"}); }).says("'DOCKER_RESOURCE_AMD_GPU'"));
}

BOOST_AUTO_TEST_CASE(a_value_has_a_length)
{
    const std::string value(65537, ',');
    BOOST_TEST((failure_of([&] { nvidia_value(value); }).kind == ErrorKind::Usage));
    BOOST_TEST((failure_of([&] { amd_value(value); }).kind == ErrorKind::Usage));
}

BOOST_AUTO_TEST_SUITE_END()
