// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "nvidia-devices/host/imex.h"
#include "promise.h"
#include "request/request.h"
#include "request/selectors.h"
#include "target.h"

namespace ogh::fuzz::device_plugin {

namespace {

constexpr std::string_view hook = "nvidia-devices";
const std::string own_key = "io.oci-gpu-hooks.nvidia-devices";

/** What both vendors' plugins do, so that one container can have all of it. */
PluginNames all_names()
{
    PluginNames names = nvidia_devices::nvidia_plugin_names();
    names.control_node = "/dev/kfd";
    names.node_directory = "/dev/dri/";
    names.node_prefix = "renderD";
    return names;
}

/** A container, and what the host believes. */
struct Case {
    Config config;
    std::string from = "mounts";
};

void add_line(Case &input, const std::string &line)
{
    const size_t end = std::min(line.find(' '), line.size());
    const std::string word = line.substr(0, end);
    const std::string rest = line.substr(std::min(end + 1, line.size()));
    const size_t tab = std::min(rest.find('\t'), rest.size());
    const std::string behind = rest.substr(std::min(tab + 1, rest.size()));
    if (word == "annotation")
        input.config.annotations[rest.substr(0, tab)] = behind;
    else if (word == "env")
        input.config.environment.push_back(rest);
    else if (word == "null")
        input.config.binds.push_back({rest, "/dev/null"});
    else if (word == "bind")
        input.config.binds.push_back({rest.substr(0, tab), behind});
    else if (word == "node")
        input.config.devices.push_back(rest);
    else if (word == "privileged")
        input.config.allows_every_device = true;
    else if (word == "from")
        input.from = rest;
}

/**
 * A line each: `annotation KEY<tab>VALUE`, `env NAME=VALUE`, `null TARGET`, `bind TARGET<tab>SOURCE`, `node PATH`,
 * `privileged`, `from LIST`.
 */
Case read_case(std::string_view input)
{
    Case result;
    std::istringstream lines{std::string(input)};
    for (std::string line; std::getline(lines, line);)
        add_line(result, line);
    return result;
}

/** Whether something that a source may hold has the name. */
bool is_there(const std::string &name, PluginSource source, const Config &config)
{
    if (source == PluginSource::Nodes)
        return std::any_of(config.devices.begin(), config.devices.end(),
                           [&](const std::string &path) { return path == "/dev/dri/" + name; });
    if (source == PluginSource::Mounts)
        return std::any_of(config.binds.begin(), config.binds.end(), [&](const BindMount &bind) {
            return bind.source == "/dev/null" &&
                   bind.destination.ends_with("/nvidia-container-devices/" + name);
        });
    return std::any_of(config.annotations.begin(), config.annotations.end(), [&](const auto &annotation) {
        return annotation.first.find("cdi.k8s.io/") != std::string::npos &&
               annotation.second.find("nvidia.com/gpu=" + name) != std::string::npos;
    });
}

bool has_nodes(const Config &config)
{
    return !config.allows_every_device &&
           std::any_of(config.devices.begin(), config.devices.end(),
                       [](const std::string &path) { return path.starts_with("/dev/nvidia"); });
}

void check_names(const Request &asked, const Config &config)
{
    const Selectors selectors = parse_selectors(asked.what);
    require(!selectors.none && !selectors.environment && !selectors.allowed && selectors.any == 0,
            "a plugin names devices, or all");
    for (const Selector &selector : selectors.named) {
        require(is_there(selector.text, *asked.plugin, config), "what is asked for was named");
        const auto *const range = std::get_if<IndexRange>(&selector.what);
        require(range == nullptr || range->first == range->last, "a plugin names no range");
    }
    require(!selectors.all || is_there("all", *asked.plugin, config), "all is named as well");
}

void check_asked(const Request &asked, const Case &input, const std::vector<PluginSource> &from)
{
    require(asked.what.value.size() <= max_request_size && is_one_clean_line(asked.what.origin),
            "who asks is one clean line");
    if (!asked.plugin) {
        const auto own = input.config.annotations.lower_bound(own_key);
        require(own != input.config.annotations.end() && own->first.starts_with(own_key),
                "a container itself asks by annotation alone");
        return;
    }
    require(std::find(from.begin(), from.end(), *asked.plugin) != from.end(), "the host believes who asks");
    require(*asked.plugin != PluginSource::Nodes || !input.config.allows_every_device,
            "a privileged container's nodes ask for nothing");
    const bool has_mounts = find_plugin_mount(input.config, all_names()).has_value() &&
                            std::find(from.begin(), from.end(), PluginSource::Mounts) != from.end();
    require(!has_mounts || *asked.plugin <= PluginSource::Mounts, "mounts win, or stop the container");
    if (*asked.plugin != PluginSource::Environment)
        check_names(asked, input.config);
}

} // namespace

void check(std::string_view input)
{
    const Case request = read_case(input);
    const auto from = attempt([&] {
        return parse_plugin_sources({request.from, "option '--from'"}, all_names());
    });
    require(from.value || from.kind == ErrorKind::Usage, "sources are refused as a wrong use");
    if (!from.value)
        return;
    OptInOptions options;
    options.plugin = {all_names(), *from.value};
    Notes notes;
    const auto outcome = attempt([&] { return read_request(hook, &request.config, options, notes); });
    for (const Note &note : notes)
        require(is_one_clean_line(note.text), "a note is one clean line");
    require(outcome.value || outcome.kind == ErrorKind::Usage || outcome.kind == ErrorKind::Denied,
            "what no plugin says is refused as that");
    if (!outcome.value)
        return;
    if (*outcome.value)
        check_asked(**outcome.value, request, *from.value);
    else
        require(!find_plugin_mount(request.config, all_names()) || has_nodes(request.config),
                "no container starts in silence without what its mounts name");
    for (const PluginSource source : *from.value)
        attempt([&] { return nvidia_devices::imex_channels_of_plugin(request.config, source); });
}

} // namespace ogh::fuzz::device_plugin
