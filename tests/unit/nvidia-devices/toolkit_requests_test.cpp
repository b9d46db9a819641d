// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/request/toolkit_requests.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_toolkit_requests)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::Failure;
using ogh::test::failure_of;

namespace {

/** What is said of a container with this environment; "" for nothing. */
std::string warning(const std::vector<std::string> &environment)
{
    Config config;
    config.environment = environment;
    Notes notes;
    check_further_variables(config, notes);
    if (notes.empty())
        return "";
    BOOST_TEST(notes.size() == 1U);
    BOOST_TEST((notes[0].level == LogLevel::Warning));
    return notes[0].text;
}

Failure refused(const std::string &target)
{
    Config config;
    config.bind_targets = {"/data", target};
    return failure_of([&] { refuse_device_mounts(config); });
}

} // namespace

BOOST_AUTO_TEST_CASE(gpus_named_by_mounts_are_refused)
{
    for (const char *target :
         {"/var/run/nvidia-container-devices/GPU-1", "/var/run/nvidia-container-devices/all",
          "/run/nvidia-container-devices/imex/0"}) {
        BOOST_TEST((refused(target).code == ExitCode::Usage), target);
        BOOST_TEST(refused(target).says(target), target);
    }
    for (const char *target : {"/var/run/nvidia-container-devices", "/var/run/nvidia-container-devices2/x",
                               "/x/var/run/nvidia-container-devices/0", ""})
        BOOST_TEST((refused(target).code == ExitCode::Success), target);
}

BOOST_AUTO_TEST_CASE(imex_channels_are_refused)
{
    const auto code = [](const char *entry) { return failure_of([&] { warning({entry}); }).code; };
    BOOST_TEST((code("NVIDIA_IMEX_CHANNELS=0,1") == ExitCode::Usage));
    for (const char *entry : {"NVIDIA_IMEX_CHANNELS=", "NVIDIA_IMEX_CHANNELS=all", "NVIDIA_IMEX_CHANNEL=0"})
        BOOST_TEST((code(entry) == ExitCode::Success), entry);
}

BOOST_AUTO_TEST_CASE(requirements_are_not_checked_which_is_said)
{
    BOOST_TEST(warning({"NVIDIA_REQUIRE_CUDA=cuda>=12.4", "NVIDIA_REQUIRE_ARCH=arch>=7"}) ==
               "what the image needs of the driver is not checked ('NVIDIA_REQUIRE_ARCH', "
               "'NVIDIA_REQUIRE_CUDA'): with a driver that is too old its programs fail");
    for (const char *entry :
         {"NVIDIA_REQUIRE_CUDA=", "NVIDIA_REQUIRE_CUDA", "NVIDIA_REQUIRE_JETPACK=csv-mounts=all",
          "NVIDIA_REQUIRED=x", "CUDA_VERSION=12.4.1"})
        BOOST_TEST(warning({entry}) == "", entry);
    const std::string cuda = "NVIDIA_REQUIRE_CUDA=cuda>=12.4";
    BOOST_TEST(warning({cuda, "NVIDIA_REQUIRE_CUDA="}) == ""); // the last counts
    for (const char *word : {"1", "t", "T", "true", "TRUE", "True"})
        BOOST_TEST(warning({cuda, "NVIDIA_DISABLE_REQUIRE=" + std::string(word)}) == "", word);
    for (const char *word : {"", "0", "yes", "tRUE"})
        BOOST_TEST(warning({cuda, "NVIDIA_DISABLE_REQUIRE=" + std::string(word)}) != "", word);
}

BOOST_AUTO_TEST_SUITE_END()
