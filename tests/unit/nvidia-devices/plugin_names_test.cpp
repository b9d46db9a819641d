// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/request/plugin_names.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_plugin_names)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::Failure;
using ogh::test::failure_of;

namespace {

const std::string folder = "/var/run/nvidia-container-devices/";

Failure refused(const std::string &target)
{
    Config config;
    config.binds = {BindMount{"/data"}, BindMount{target}};
    return failure_of([&] { refuse_plugin_mounts(config, nvidia_plugin_names()); });
}

std::vector<unsigned> channels(const Config &config, PluginSource source)
{
    return imex_channels_of_plugin(config, source);
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

BOOST_AUTO_TEST_CASE(channels_come_from_where_the_gpus_come_from)
{
    Config config;
    config.binds = {{folder + "GPU-1", "/dev/null"}, {folder + "imex/3", "/dev/null"}};
    config.annotations["cdi.k8s.io/a"] = "nvidia.com/gpu=0,nvidia.com/imex-channel=5";
    config.annotations["nvidia.cdi.k8s.io/b"] = "k8s.device-plugin.nvidia.com/imex-channel=4";
    config.environment = {"NVIDIA_IMEX_CHANNELS=7"};
    BOOST_TEST(channels(config, PluginSource::Mounts) == std::vector<unsigned>{3},
               boost::test_tools::per_element());
    BOOST_TEST(channels(config, PluginSource::CdiAnnotations) == (std::vector<unsigned>{4, 5}),
               boost::test_tools::per_element());
    BOOST_TEST(channels(config, PluginSource::Environment) == std::vector<unsigned>{7},
               boost::test_tools::per_element());
    config.binds.pop_back();
    BOOST_TEST(channels(config, PluginSource::Mounts).empty());
    config.binds.push_back({folder + "imex/all", "/dev/null"});
    BOOST_TEST((failure_of([&] { channels(config, PluginSource::Mounts); }).kind == ErrorKind::Usage));
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
