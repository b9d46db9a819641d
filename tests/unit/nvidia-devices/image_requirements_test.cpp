// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/request/image_requirements.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_image_requirements)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::failure_of;

namespace {

using Environment = std::vector<std::string>;

/** What is required, as it was written, "; " between. */
std::string required(Environment environment)
{
    Config config;
    config.environment = std::move(environment);
    std::string text;
    for (const Requirement &requirement : requirements_of(config))
        text += (text.empty() ? "" : "; ") + requirement.text;
    return text;
}

} // namespace

BOOST_AUTO_TEST_CASE(each_variable_is_a_requirement)
{
    BOOST_TEST(required({"NVIDIA_REQUIRE_CUDA=cuda>=12.4", "PATH=/bin", "NVIDIA_REQUIRE_ARCH=arch>=7"}) ==
               "arch>=7; cuda>=12.4");
    for (const char *entry :
         {"NVIDIA_REQUIRE_CUDA=", "NVIDIA_REQUIRE_CUDA= ,", "NVIDIA_REQUIRE_CUDA",
          "NVIDIA_REQUIRE_JETPACK=csv-mounts=all", "NVIDIA_REQUIRE_JETPACK_X=y", "NVIDIA_REQUIRED=x"})
        BOOST_TEST(required({entry}) == "", entry);
    BOOST_TEST(required({"NVIDIA_REQUIRE_CUDA=cuda>=12.4", "NVIDIA_REQUIRE_CUDA="}) == ""); // the last counts
}

BOOST_AUTO_TEST_CASE(they_can_be_switched_off)
{
    const std::string cuda = "NVIDIA_REQUIRE_CUDA=oops";
    for (const char *word : {"1", "t", "T", "true", "TRUE", "True"})
        BOOST_TEST(required({cuda, "CUDA_VERSION=x", "NVIDIA_DISABLE_REQUIRE=" + std::string(word)}) == "",
                   word);
    for (const char *word : {"", "0", "f", "false", "yes", "tRUE"})
        BOOST_TEST((failure_of([&] {
                        required({cuda, "NVIDIA_DISABLE_REQUIRE=" + std::string(word)});
                    }).kind == ErrorKind::Usage),
                   word);
}

BOOST_AUTO_TEST_CASE(a_cuda_image_of_old_requires_its_version)
{
    BOOST_TEST(required({"CUDA_VERSION=9.0.176"}) == "cuda>=9.0");
    BOOST_TEST(required({"CUDA_VERSION=9.0.176", "NVIDIA_REQUIRE_CUDA="}) == "cuda>=9.0");
    BOOST_TEST(required({"CUDA_VERSION=v10.2", "NVIDIA_REQUIRE_ARCH=arch>=7"}) == "arch>=7; cuda>=10.2");
    BOOST_TEST(required({"CUDA_VERSION=8"}) == "cuda>=8");
    BOOST_TEST(required({"CUDA_VERSION=12.4.1", "NVIDIA_REQUIRE_CUDA=cuda>=12.4"}) == "cuda>=12.4");
    BOOST_TEST(required({"CUDA_VERSION="}) == "");
    for (const char *version : {"x", "v", ".5", "12.x", "-1", "12 .4", "12.4 cuda<1"}) {
        const auto failure = failure_of([&] { required({"CUDA_VERSION=" + std::string(version)}); });
        BOOST_TEST((failure.kind == ErrorKind::Usage), version);
        BOOST_TEST(failure.says("'CUDA_VERSION'"), failure.message);
    }
}

BOOST_AUTO_TEST_CASE(an_image_can_not_have_it_work_without_end)
{
    const auto failure = failure_of([] { required({"NVIDIA_REQUIRE_X=" + std::string(65537, ' ')}); });
    BOOST_TEST((failure.kind == ErrorKind::Usage));
    BOOST_TEST(failure.says("'NVIDIA_REQUIRE_X'"), failure.message);
    Environment many; // quadratic, it would take minutes
    for (unsigned i = 0; i < 100000; ++i)
        many.push_back("NVIDIA_REQUIRE_" + std::to_string(i) + "=,");
    BOOST_TEST(required(many) == "");
}

BOOST_AUTO_TEST_SUITE_END()
