// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/request/plugin_names.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/path_names.h"
#include "base/text.h"
#include "nvidia-devices/request/imex_channels.h"

namespace ogh::nvidia_devices {

namespace {

/** The second is what the first was called before, and a symlink to it since; the others are what CDI has called. */
constexpr std::array<std::string_view, 4> vendor_hooks{
    "nvidia-container-runtime-hook", "nvidia-container-toolkit", "nvidia-cdi-hook", "nvidia-ctk"};

} // namespace

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
        return std::find(vendor_hooks.begin(), vendor_hooks.end(), file_name_of(hook.path)) !=
               vendor_hooks.end();
    });
}

} // namespace ogh::nvidia_devices
