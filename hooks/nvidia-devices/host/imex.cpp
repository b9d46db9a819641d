// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/host/imex.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/contains.h"
#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "nvidia/driver_params.h"

namespace ogh::nvidia_devices {

namespace {

/** The second is what the first was called before, and a symlink to it since; the others are what CDI has called. */
constexpr std::array<std::string_view, 4> vendor_hooks{
    "nvidia-container-runtime-hook", "nvidia-container-toolkit", "nvidia-cdi-hook", "nvidia-ctk"};

/** The numbers of channels end below this one, whatever driver it is. */
constexpr unsigned imex_channel_limit = 1U << 20U;

/** How many channels one container may ask for: each is a node, and a rule of its device cgroup. */
constexpr unsigned max_imex_channels = 256;

constexpr const char *channels_variable = "NVIDIA_IMEX_CHANNELS";
constexpr const char *count_key = "ImexChannelCount";

Error no_channels(const RequestValue &asked, const std::string &why)
{
    return {ErrorKind::Usage, "the " + asked.origin + " " + why + " in " + quote(asked.value) +
                                  "; it takes numbers of IMEX channels, 0 to " +
                                  std::to_string(imex_channel_limit - 1) +
                                  ", and ranges of them ('0-3'), separated by commas"};
}

std::vector<IndexRange> parse_ranges(const std::vector<std::string> &items, const RequestValue &asked)
{
    std::vector<IndexRange> ranges;
    for (const std::string &item : items) {
        const auto range = parse_index_range(item, imex_channel_limit - 1);
        if (!range)
            throw no_channels(asked, "has " + quote(item) + ", which is no channel and no range of them,");
        ranges.push_back(*range);
    }
    return ranges;
}

std::vector<unsigned> channels_in(const std::vector<std::string> &items, const RequestValue &asked)
{
    std::set<unsigned> channels;
    for (const IndexRange &range : parse_ranges(items, asked)) {
        for (unsigned channel = range.first; channel <= range.last; ++channel) {
            channels.insert(channel);
            if (channels.size() > max_imex_channels)
                throw no_channels(asked,
                                  "asks for more than " + std::to_string(max_imex_channels) + " channels");
        }
    }
    return {channels.begin(), channels.end()};
}

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

std::vector<unsigned> parse_imex_channels(const RequestValue &asked)
{
    return channels_in(split_list(asked.value), asked);
}

std::vector<unsigned> imex_channels_of_environment(const Config &config)
{
    const RequestValue asked{environment_value(config, channels_variable).value_or(""),
                             "environment variable " + quote(channels_variable)};
    auto items = split_list(asked.value);
    std::erase(items, "");
    const auto has = [&](const char *word) { return contains(items, word); };
    if (has("void") || has("none") || (items.size() == 1 && has("all")))
        return {};
    return channels_in(items, asked);
}

std::vector<unsigned> imex_channels_of_plugin(const Config &config, PluginSource source)
{
    if (source == PluginSource::Environment)
        return imex_channels_of_environment(config);
    const RequestValue asked{list_text(find_plugin_others(config, nvidia_plugin_names(), source)),
                             source == PluginSource::Mounts ? "mounts in 'imex'"
                                                            : "annotations for IMEX channels"};
    return asked.value.empty() ? std::vector<unsigned>() : parse_imex_channels(asked);
}

ImexPolicy::ImexPolicy(const RequestValue &list) : text_(trimmed(list.value))
{
    ranges_ = text_ == "all" ? std::vector{IndexRange{0, imex_channel_limit - 1}}
                             : parse_ranges(split_list(text_), list);
}

void ImexPolicy::require(const std::vector<unsigned> &channels) const
{
    for (const unsigned channel : channels) {
        const auto has = [&](const IndexRange &range) {
            return channel >= range.first && channel <= range.last;
        };
        if (!std::any_of(ranges_.begin(), ranges_.end(), has))
            throw Error(ErrorKind::Denied,
                        "no IMEX channel '" + std::to_string(channel) +
                            "': the host's policy (--allow-imex) does not allow it; it allows " + text_);
    }
}

unsigned imex_channel_count(const Inventory &inventory)
{
    if (!inventory.devices.major_of(imex_devices))
        return 0;
    const auto count = driver_param(inventory.proc.params.value_or(""), count_key);
    return count && *count < imex_channel_limit ? static_cast<unsigned>(*count) : imex_channel_limit;
}

void require_imex_channels(const Inventory &inventory, const std::vector<unsigned> &channels)
{
    if (channels.empty())
        return;
    const unsigned count = imex_channel_count(inventory);
    if (count == 0)
        throw Error(ErrorKind::NotAvailable, "this host has no IMEX channels: its nvidia driver has no " +
                                                 std::string(imex_devices) +
                                                 " in /proc/devices, or NVreg_ImexChannelCount is 0");
    if (channels.back() >= count)
        throw Error(ErrorKind::NotAvailable, "no IMEX channel '" + std::to_string(channels.back()) +
                                                 "': this host's driver has 0 to " +
                                                 std::to_string(count - 1) + " (NVreg_ImexChannelCount)");
}

std::optional<std::string> imex_fact(const Inventory &inventory, const ImexPolicy &policy)
{
    const unsigned count = imex_channel_count(inventory);
    if (count == 0)
        return std::nullopt;
    return "0-" + std::to_string(count - 1) + ", allowed: " + policy.text();
}

} // namespace ogh::nvidia_devices
