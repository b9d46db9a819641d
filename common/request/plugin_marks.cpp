// SPDX-License-Identifier: Apache-2.0
#include "request/plugin_marks.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"

namespace ogh {

namespace {

/** What a plugin has left, for the message, and what it takes to be believed. */
struct Mark {
    std::string text;
    PluginSource source;
};

std::optional<Mark> find_mount(const Config &config, const PluginNames &names)
{
    const auto mount = find_plugin_mount(config, names);
    return mount ? std::optional(Mark{"mount " + quote(*mount), PluginSource::Mounts}) : std::nullopt;
}

/** Whether one of the items is a device of these kinds, or would be one. */
bool has_kind(const std::string &list, const std::vector<std::string_view> &kinds)
{
    const std::vector<std::string> items = split_list(list);
    return std::any_of(items.begin(), items.end(), [&](const std::string &item) {
        return contains(kinds, std::string_view(item).substr(0, item.find('=')));
    });
}

std::optional<Mark> find_annotation(const Config &config, const PluginNames &names)
{
    const auto found =
        std::find_if(config.annotations.begin(), config.annotations.end(), [&](const auto &entry) {
            return std::any_of(names.prefixes.begin(), names.prefixes.end(),
                               [&](std::string_view prefix) { return entry.first.starts_with(prefix); }) &&
                   has_kind(entry.second, names.kinds);
        });
    return found == config.annotations.end()
               ? std::nullopt
               : std::optional(Mark{"annotation " + quote(found->first), PluginSource::CdiAnnotations});
}

std::optional<Mark> find_variable(const Config &config, const PluginNames &names)
{
    const auto value = environment_value(config, names.variable);
    const std::vector<std::string> items = split_list(value.value_or(""));
    if (items.empty() || !std::all_of(items.begin(), items.end(),
                                      [&](const std::string &item) { return is_plugin_uuid(item, names); }))
        return std::nullopt;
    return Mark{"environment variable " + quote(names.variable), PluginSource::Environment};
}

/** Whether the engine makes a node of a device for it, which has been chosen then. */
bool has_nodes(const Config &config, const PluginNames &names)
{
    if (config.allows_every_device || names.numbered_node.empty())
        return false;
    return std::any_of(config.devices.begin(), config.devices.end(), [&](const std::string &path) {
        const std::string_view number = path.starts_with(names.numbered_node)
                                            ? std::string_view(path).substr(names.numbered_node.size())
                                            : "";
        return !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
    });
}

} // namespace

void refuse_unbelieved_marks(const Config &config, const DevicePlugin &plugin)
{
    if ((plugin.is_served_by_tools != nullptr && plugin.is_served_by_tools(config)) ||
        has_nodes(config, plugin.names))
        return;
    std::vector<std::string> believed;
    for (const PluginSource source : plugin.from)
        believed.emplace_back(word_of(source));
    for (const auto find : {find_mount, find_annotation, find_variable}) {
        const auto mark = find(config, plugin.names);
        if (mark && !contains(plugin.from, mark->source))
            throw Error(
                ErrorKind::Usage,
                "the " + mark->text + " names GPUs as Kubernetes' device plugin does, and what this " +
                    "host believes ('--from " + list_text(believed) +
                    "') names none: a plugin that says it so takes '--from " +
                    std::string(word_of(mark->source)) +
                    "' among this hook's args; or the pod has set it itself, which nothing tells from "
                    "that, and may ask for 'none'");
    }
}

} // namespace ogh
