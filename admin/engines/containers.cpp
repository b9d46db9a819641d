// SPDX-License-Identifier: Apache-2.0
#include "engines/containers.h"

#include <algorithm>
#include <array>
#include <climits>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "engines/document.h"
#include "host/host_file.h"
#include "kernel/folder_entries.h"
#include "lease/processes.h"
#include "registration/path_names.h"

namespace ogh::admin {

namespace {

using nlohmann::json;

constexpr size_t max_stat = 65536;

/** A folder with a folder for each container. */
struct StateFolder {
    const char *path; ///< a last component `*` is any
    const char *runtime;
};

constexpr std::array state_folders{
    StateFolder{"/run/runc", "runc"},
    StateFolder{"/run/docker/runtime-runc/*", "runc"},
    StateFolder{"/run/containerd/runc/*", "runc"},
    StateFolder{"/run/crun", "crun"},
};

std::vector<std::string> folders_in(const Sysroot &sysroot, const std::string &path)
{
    std::vector<std::string> paths;
    const auto place = sysroot.find(path);
    if (!place)
        return paths;
    const auto is_name = [](std::string_view name) { return !name.starts_with('.'); };
    for (const FolderEntry &entry : list_folder(place->fd.get(), {quote(path), is_name, 0, ExitCode::Host}))
        paths.push_back(path + "/" + entry.name);
    return paths;
}

std::int64_t number_at(const json &document, const char *name)
{
    const json *const value = find_value(document, {name});
    return value != nullptr && value->is_number_integer() ? value->get<std::int64_t>() : 0;
}

/** runc's libcontainer keeps what is no annotation of its own among the labels of its configuration. */
std::string bundle_of_runc(const json &state)
{
    constexpr std::string_view label = "bundle=";
    for (const std::string &each : texts_at(state, {"config", "labels"}).value_or(std::vector<std::string>{}))
        if (each.starts_with(label))
            return each.substr(label.size());
    return "";
}

/** What a runtime has written down; crun's file has no suffix. */
std::optional<json> read_state(const Sysroot &sysroot, const std::string &folder, bool is_crun)
{
    constexpr size_t limit = size_t{1} << 22U;
    if (!is_crun)
        return read_document(sysroot, folder + "/state.json");
    const auto text = read_host_file(sysroot, folder + "/status", limit);
    json state = json::parse(text.value_or(""), nullptr, false);
    return state.is_object() ? std::optional(std::move(state)) : std::nullopt;
}

/** Whether the process is still the one that the runtime started: numbers are given again. */
bool is_running(const Sysroot &sysroot, pid_t pid, std::int64_t started)
{
    const auto stat = read_host_file(sysroot, "/proc/" + std::to_string(pid) + "/stat", max_stat);
    const auto ticks = start_time_of(stat.value_or(""));
    return ticks && (started == 0 || static_cast<std::int64_t>(*ticks) == started);
}

void read_config(const Sysroot &sysroot, RunningContainer &container)
{
    const json config = read_document(sysroot, container.bundle + "/config.json").value_or(json::object());
    const json *const annotations = find_value(config, {"annotations"});
    if (annotations != nullptr && annotations->is_object())
        for (const auto &[key, value] : annotations->items())
            container.annotations[key] = value.is_string() ? value.get<std::string>() : "";
    const json *const stages = find_value(config, {"hooks"});
    if (stages != nullptr && stages->is_object())
        for (const auto &[stage, list] : stages->items())
            for (const json &hook : list)
                container.hooks.push_back(text_at(hook, {"path"}));
}

std::optional<RunningContainer> read_container(const Sysroot &sysroot, const std::string &folder,
                                               const char *runtime)
{
    const bool is_crun = std::string_view(runtime) == "crun";
    RunningContainer container{name_of(folder), runtime, 0, "", "", {}, {}};
    try {
        const auto state = read_state(sysroot, folder, is_crun);
        if (!state)
            return std::nullopt;
        const std::int64_t pid = number_at(*state, is_crun ? "pid" : "init_process_pid");
        container.pid = pid > 0 && pid <= INT_MAX ? static_cast<pid_t>(pid) : 0;
        container.bundle = is_crun ? text_at(*state, {"bundle"}) : bundle_of_runc(*state);
        if (!is_running(sysroot, container.pid,
                        number_at(*state, is_crun ? "process-start-time" : "init_process_start")))
            return std::nullopt;
        read_config(sysroot, container);
    } catch (const Error &error) {
        container.problem = error.what();
    }
    return container;
}

} // namespace

std::vector<RunningContainer> find_containers(const Sysroot &sysroot)
{
    std::vector<RunningContainer> containers;
    for (const StateFolder &each : state_folders) {
        std::string path = each.path;
        std::vector<std::string> roots{path};
        if (path.ends_with("/*"))
            roots = folders_in(sysroot, path.substr(0, path.size() - 2));
        for (const std::string &root : roots)
            for (const std::string &folder : folders_in(sysroot, root))
                if (auto container = read_container(sysroot, folder, each.runtime))
                    containers.push_back(std::move(*container));
    }
    std::sort(containers.begin(), containers.end(),
              [](const auto &one, const auto &other) { return one.id < other.id; });
    return containers;
}

} // namespace ogh::admin
