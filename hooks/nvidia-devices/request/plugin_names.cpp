// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/request/plugin_names.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "nvidia-devices/request/imex_channels.h"
#include "nvidia-devices/request/vendor_programs.h"

namespace ogh::nvidia_devices {

PluginNames nvidia_plugin_names()
{
    return {.variable = "NVIDIA_VISIBLE_DEVICES",
            .kinds = {"nvidia.com/gpu", "k8s.device-plugin.nvidia.com/gpu"},
            .prefixes = {"cdi.k8s.io/", "nvidia.cdi.k8s.io/"},
            .folders = {"/var/run/nvidia-container-devices/", "/run/nvidia-container-devices/"},
            .other_folder = "imex/",
            .other_kinds = {"nvidia.com/imex-channel", "k8s.device-plugin.nvidia.com/imex-channel"}};
}

std::vector<unsigned> imex_channels_of_plugin(const Config &config, PluginSource source)
{
    if (source == PluginSource::Environment)
        return imex_channels_of_environment(config);
    RequestValue asked{"",
                       source == PluginSource::Mounts ? "mounts in 'imex'" : "annotations for IMEX channels"};
    for (const std::string &name : find_plugin_others(config, nvidia_plugin_names(), source))
        asked.value += (asked.value.empty() ? "" : ",") + name;
    return asked.value.empty() ? std::vector<unsigned>() : parse_imex_channels(asked);
}

bool has_vendor_hook(const Config &config)
{
    return std::any_of(config.hooks.begin(), config.hooks.end(), [](const HookEntry &hook) {
        return is_one_of(hook.path, vendor_hooks) || is_one_of(hook.path, vendor_cdi_hooks);
    });
}

} // namespace ogh::nvidia_devices
