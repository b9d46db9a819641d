// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/host/imex.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_plugin_names)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::Failure;
using ogh::test::failure_of;

namespace {

Failure refused(const std::string &target)
{
    Config config;
    config.binds = {BindMount{"/data"}, BindMount{target}};
    return failure_of([&] { refuse_plugin_mounts(config, nvidia_plugin_names()); });
}

} // namespace

BOOST_AUTO_TEST_CASE(gpus_named_by_mounts_are_refused)
{
    for (const char *target :
         {"/var/run/nvidia-container-devices/GPU-1", "/var/run/nvidia-container-devices/all",
          "/run/nvidia-container-devices/imex/0"}) {
        BOOST_TEST((refused(target).kind == ErrorKind::Usage), target);
        BOOST_TEST(refused(target).says(target), target);
    }
    for (const char *target : {"/var/run/nvidia-container-devices", "/var/run/nvidia-container-devices2/x",
                               "/x/var/run/nvidia-container-devices/0", ""})
        BOOST_TEST((refused(target).kind == ErrorKind::None), target);
}

BOOST_AUTO_TEST_CASE(nvidias_tools_are_known_by_their_programs)
{
    Config config;
    BOOST_TEST(!has_vendor_hook(config));
    config.hooks = {{"/usr/libexec/oci/hooks.d/nvidia-devices"},
                    {"/opt/nvidia-cdi-hook/x"},
                    {""},
                    {"/"},
                    {"/usr/bin/my-nvidia-container-toolkit"}};
    BOOST_TEST(!has_vendor_hook(config));
    for (const char *path : {"/usr/bin/nvidia-cdi-hook", "/usr/bin/nvidia-container-runtime-hook",
                             "nvidia-ctk", "/x/nvidia-container-toolkit"}) {
        config.hooks[0].path = path;
        BOOST_TEST(has_vendor_hook(config), path);
    }
}

BOOST_AUTO_TEST_SUITE_END()
