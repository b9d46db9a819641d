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

BOOST_AUTO_TEST_SUITE_END()
