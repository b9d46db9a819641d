// SPDX-License-Identifier: Apache-2.0
#include "request/device_plugin.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/contains.h"
#include "base/error.h"
#include "base/letters.h"
#include "base/text.h"

namespace ogh {

namespace {

constexpr std::array<std::pair<std::string_view, PluginSource>, 4> source_names{
    {{"nodes", PluginSource::Nodes},
     {"mounts", PluginSource::Mounts},
     {"cdi-annotations", PluginSource::CdiAnnotations},
     {"environment", PluginSource::Environment}}};

/** What images say in the vendors' variables, and no plugin does. */
constexpr std::array<std::string_view, 6> words_of_images{"all", "All", "ALL", "none", "void", ""};

/** A name of one device as plugins have them: a UUID, an index, and `all`. No `..`, nothing with a slash, no range. */
bool is_device_name(const std::string &name)
{
    const auto is_inner = [](char c) {
        return is_letter_or_digit(c) || c == '-' || c == ':' || c == '.' || c == '_';
    };
    const bool is_range =
        name.find_first_not_of("0123456789-") == std::string::npos && name.find('-') != std::string::npos;
    return !name.empty() && is_letter_or_digit(name.front()) && !is_range &&
           std::all_of(name.begin(), name.end(), is_inner);
}

RequestValue asked_by(const std::vector<std::string> &devices, const std::string &origin)
{
    RequestValue asked = request_value(list_text(devices), origin, "are");
    for (const std::string &device : devices) {
        if (!is_device_name(device))
            throw Error(ErrorKind::Usage, "the " + origin + " have " + quote(device) +
                                              ", which is no name of a device that a plugin would give");
        if (device != "all")
            static_cast<void>(parse_selector(device, asked)); // no other keyword
    }
    return asked;
}

/** What is behind the vendor's directory in a mount's target; nothing if it is somewhere else. */
std::optional<std::string> name_in(const std::string &target, const PluginNames &names)
{
    for (const std::string_view directory : names.directories) {
        if (target.starts_with(directory))
            return target.substr(directory.size());
    }
    return std::nullopt;
}

/** What the plugin names: its devices, and what goes along with them. */
struct Named {
    std::vector<std::string> devices;
    std::vector<std::string> others;
};

Named named_by_nodes(const Config &config, const PluginNames &names)
{
    Named named;
    if (config.allows_every_device || !contains(config.devices, names.control_node))
        return named; // a privileged container has all nodes of the host's
    for (const std::string &path : config.devices) {
        if (path.starts_with(names.node_directory) &&
            std::string_view(path).substr(names.node_directory.size()).starts_with(names.node_prefix))
            named.devices.push_back(path.substr(names.node_directory.size()));
    }
    return named;
}

Named named_by_mounts(const Config &config, const PluginNames &names)
{
    Named named;
    for (const BindMount &bind : config.binds) {
        const auto name = name_in(bind.destination, names);
        if (!name)
            continue;
        // Whoever writes a pod can mount a volume there; a file of the host's takes a hostPath.
        if (bind.source != "/dev/null")
            throw Error(ErrorKind::Usage, "the mount " + quote(bind.destination) +
                                              " names a device, and its source is " + quote(bind.source) +
                                              ", where a device plugin has '/dev/null'");
        if (!names.other_directory.empty() && name->starts_with(names.other_directory))
            named.others.push_back(name->substr(names.other_directory.size()));
        else
            named.devices.push_back(*name);
    }
    return named;
}

void add_annotation(const std::string &key, const std::string &value, const PluginNames &names, Named &named)
{
    for (const std::string &item : split_list(value)) {
        const size_t end = std::min(item.find('='), item.size());
        const std::string_view kind = std::string_view(item).substr(0, end);
        const bool is_device = contains(names.kinds, kind);
        if (!is_device && !contains(names.other_kinds, kind))
            continue; // for somebody else
        if (end == item.size())
            throw Error(ErrorKind::Usage,
                        "the annotation " + quote(key) + " has " + quote(item) + ", which is no CDI device");
        (is_device ? named.devices : named.others).push_back(item.substr(end + 1));
    }
}

Named named_by_annotations(const Config &config, const PluginNames &names)
{
    Named named;
    for (const std::string_view prefix : names.prefixes) {
        for (auto entry = config.annotations.lower_bound(prefix);
             entry != config.annotations.end() && entry->first.starts_with(prefix); ++entry)
            add_annotation(entry->first, entry->second, names, named);
    }
    return named;
}

std::string origin_of(PluginSource source, const PluginNames &names)
{
    return source == PluginSource::Nodes ? "nodes beside " + quote(names.control_node)
           : source == PluginSource::Mounts
               ? "mounts in " + quote(names.directories.front())
               : "annotations " + quote(std::string(names.prefixes.front()) + "...");
}

/** Of a source that has names. */
Named named_by(PluginSource source, const Config &config, const PluginNames &names)
{
    return source == PluginSource::Nodes    ? named_by_nodes(config, names)
           : source == PluginSource::Mounts ? named_by_mounts(config, names)
                                            : named_by_annotations(config, names);
}

std::optional<RequestValue> asked_by_names(PluginSource source, const Config &config,
                                           const PluginNames &names)
{
    const Named named = named_by(source, config, names);
    const std::string origin = origin_of(source, names);
    if (!named.devices.empty())
        return asked_by(named.devices, origin);
    if (!named.others.empty())
        throw Error(ErrorKind::Usage, "the " + origin + " name no device, but " +
                                          quote(named.others.front()) + " of what is given with one");
    return std::nullopt;
}

std::optional<RequestValue> asked_by_environment(const Config &config, const PluginNames &names, Notes &notes)
{
    const auto value = environment_value(config, names.variable);
    if (!value)
        return std::nullopt;
    const std::string origin = "environment variable " + quote(names.variable);
    if (contains(words_of_images, trimmed(*value))) {
        notes.push_back({LogLevel::Info, "the " + origin + " is " + quote(trimmed(*value)) +
                                             ", which an image says and no device plugin"});
        return std::nullopt;
    }
    if (contains(names.directories, std::string(trimmed(*value)) + "/"))
        return std::nullopt; // so a plugin says that its mounts name them
    for (const std::string &item : split_list(*value))
        if (!names.uuid_prefixes.empty() && !is_plugin_uuid(item, names))
            throw Error(ErrorKind::Usage,
                        "the " + origin + " has " + quote(item) +
                            ", which is no whole UUID: with '--from environment' the device plugin needs "
                            "'deviceIDStrategy: uuid', or the pod has set it itself");
    return RequestValue{"env", origin};
}

/** The annotation of CDI's that names a device of the plugin's kinds, or would name one; "" if there is none. */
std::string find_plugin_annotation(const Config &config, const PluginNames &names)
{
    const auto is_prefix = [&](const std::string &key) {
        return std::any_of(names.prefixes.begin(), names.prefixes.end(),
                           [&](std::string_view each) { return key.starts_with(each); });
    };
    for (const auto &[key, value] : config.annotations) {
        const std::vector<std::string> items = split_list(value);
        if (is_prefix(key) && std::any_of(items.begin(), items.end(), [&](const std::string &item) {
                return contains(names.kinds, std::string_view(item).substr(0, item.find('=')));
            }))
            return key;
    }
    return "";
}

/** What a plugin has left in a place, whether or not the host believes it, for the message; "" if there is nothing. */
std::string mark_in(PluginSource source, const Config &config, const PluginNames &names)
{
    if (source == PluginSource::Mounts) {
        const auto mount = find_plugin_mount(config, names);
        return mount ? "mount " + quote(*mount) : "";
    }
    if (source == PluginSource::CdiAnnotations) {
        const std::string key = find_plugin_annotation(config, names);
        return key.empty() ? "" : "annotation " + quote(key);
    }
    const std::vector<std::string> items = split_list(environment_value(config, names.variable).value_or(""));
    const bool are_uuids = source == PluginSource::Environment && !items.empty() &&
                           std::all_of(items.begin(), items.end(),
                                       [&](const std::string &item) { return is_plugin_uuid(item, names); });
    return are_uuids ? "environment variable " + quote(names.variable) : "";
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

std::string_view word_of(PluginSource source)
{
    return std::find_if(source_names.begin(), source_names.end(),
                        [&](const auto &each) { return each.second == source; })
        ->first;
}

std::vector<PluginSource> parse_plugin_sources(const RequestValue &list, const PluginNames &names)
{
    const auto is_used = [&](PluginSource source) {
        return source == PluginSource::Nodes            ? !names.control_node.empty()
               : source == PluginSource::Mounts         ? !names.directories.empty()
               : source == PluginSource::CdiAnnotations ? !names.kinds.empty()
                                                        : true;
    };
    std::vector<PluginSource> sources;
    std::vector<std::string> words;
    for (const auto &[word, source] : source_names) {
        if (is_used(source))
            words.emplace_back(word);
    }
    for (const std::string &item : split_list(list.value)) {
        if (!contains(words, item))
            throw Error(ErrorKind::Usage, "the " + list.origin + " has " + quote(item) + "; it takes " +
                                              quote_list(words) + ", separated by commas");
        sources.push_back(std::find_if(source_names.begin(), source_names.end(), [&](const auto &each) {
                              return each.first == item;
                          })->second);
    }
    std::sort(sources.begin(), sources.end());
    return sources;
}

std::optional<PluginRequest> find_plugin_request(const Config &config, const DevicePlugin &plugin,
                                                 Notes &notes)
{
    const PluginNames &names = plugin.names;
    for (const PluginSource source : plugin.from) {
        auto asked = source == PluginSource::Environment ? asked_by_environment(config, names, notes)
                                                         : asked_by_names(source, config, names);
        if (asked)
            return PluginRequest{std::move(*asked), source};
    }
    return std::nullopt;
}

std::vector<std::string> find_plugin_others(const Config &config, const PluginNames &names,
                                            PluginSource source)
{
    return source == PluginSource::Environment ? std::vector<std::string>()
                                               : named_by(source, config, names).others;
}

/** A prefix, and then 32 hexadecimal digits in the five groups of RFC 9562. */
bool is_plugin_uuid(std::string_view item, const PluginNames &names)
{
    constexpr std::string_view form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    const auto fits = [](char c, char place) {
        return place == '-' ? c == '-' : contains(std::string_view("0123456789abcdefABCDEF"), c);
    };
    return std::any_of(names.uuid_prefixes.begin(), names.uuid_prefixes.end(), [&](std::string_view prefix) {
        const std::string_view rest = item.starts_with(prefix) ? item.substr(prefix.size()) : "";
        return std::equal(rest.begin(), rest.end(), form.begin(), form.end(), fits);
    });
}

std::optional<std::string> find_plugin_mount(const Config &config, const PluginNames &names)
{
    const auto bind = std::find_if(config.binds.begin(), config.binds.end(), [&](const BindMount &each) {
        return name_in(each.destination, names).has_value();
    });
    return bind == config.binds.end() ? std::nullopt : std::optional(bind->destination);
}

void refuse_plugin_mounts(const Config &config, const PluginNames &names)
{
    if (const auto mount = find_plugin_mount(config, names))
        throw Error(ErrorKind::Usage,
                    "the mount " + quote(*mount) +
                        " asks for a GPU, as Kubernetes' device plugin does, and this host does not let "
                        "mounts ask: add '--from', 'mounts' to this hook's args, or let the container ask "
                        "by annotation and the plugin do without volume-mounts");
}

void refuse_unbelieved_marks(const Config &config, const DevicePlugin &plugin)
{
    if (plugin.is_served_by_tools(config) || has_nodes(config, plugin.names))
        return;
    std::vector<std::string> believed;
    for (const PluginSource source : plugin.from)
        believed.emplace_back(word_of(source));
    for (const auto &[word, source] : source_names) {
        const std::string mark = mark_in(source, config, plugin.names);
        if (!mark.empty() && !contains(plugin.from, source))
            throw Error(
                ErrorKind::Usage,
                "the " + mark + " names GPUs as Kubernetes' device plugin does, and what this " +
                    "host believes ('--from " + list_text(believed) +
                    "') names none: a plugin that says it so takes '--from " + std::string(word) +
                    "' among this hook's args; or the pod has set it itself, which nothing tells from "
                    "that, and may ask for 'none'");
    }
}

} // namespace ogh
