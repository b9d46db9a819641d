// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/request/plugin_names.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/contains.h"
#include "base/path_names.h"

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
            .directories = {"/var/run/nvidia-container-devices/", "/run/nvidia-container-devices/"},
            .uuid_prefixes = {"GPU-", "MIG-"},
            .other_directory = "imex/",
            .other_kinds = {"nvidia.com/imex-channel", "k8s.device-plugin.nvidia.com/imex-channel"},
            .numbered_node = "/dev/nvidia"};
}

bool has_vendor_hook(const Config &config)
{
    return std::any_of(config.hooks.begin(), config.hooks.end(),
                       [](const HookEntry &hook) { return contains(vendor_hooks, file_name_of(hook.path)); });
}

} // namespace ogh::nvidia_devices
