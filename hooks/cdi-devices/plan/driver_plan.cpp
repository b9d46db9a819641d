// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/plan/driver_plan.h"

#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/letters.h"
#include "base/text.h"
#include "nvidia/driver_params.h"

namespace ogh::cdi_devices {

namespace {

constexpr std::string_view node_directory = "/dev/";

bool has_node_below(const std::string &directory, const std::vector<NodeEdit> &nodes)
{
    return std::any_of(nodes.begin(), nodes.end(), [&](const NodeEdit &node) {
        return node.container_path.starts_with(directory + "/");
    });
}

} // namespace

bool is_gpu_node(std::string_view name)
{
    constexpr std::string_view start = "nvidia";
    return name.starts_with(start) && name.size() > start.size() &&
           std::all_of(name.begin() + start.size(), name.end(), is_digit);
}

TmpfsEdit plan_driver_proc(const DriverProc &proc)
{
    TmpfsEdit edit{driver_proc_directory};
    for (const auto &[name, content] : proc.files)
        edit.files.push_back({name, content});
    edit.files.push_back({"params", params_for_container(proc.params)});
    for (const std::string &name : proc.directories)
        edit.mounts.push_back({proc.path + "/" + name, std::string(driver_proc_directory) + "/" + name});
    return edit;
}

std::optional<FileEdit> plan_egl_profile(const std::vector<NodeEdit> &nodes,
                                         const std::set<unsigned> &earlier, const LoaderFile &file,
                                         Notes &notes)
{
    std::set<unsigned> minors;
    for (const NodeEdit &node : nodes)
        if (const std::string_view path = node.container_path;
            path.starts_with(node_directory) && is_gpu_node(path.substr(node_directory.size())))
            minors.insert(node.minor);
    if (minors.empty())
        return std::nullopt;
    minors.insert(earlier.begin(), earlier.end());
    const std::string content = egl_profile(minors);
    if (file.state == LoaderFile::State::Plain && file.content == content)
        return std::nullopt;
    if (file.why_not_replace.empty())
        return FileEdit{egl_profile_path, content};
    notes.push_back(
        {LogLevel::Warning, quote(egl_profile_path) +
                                " is not written, so that programs with EGL may look for GPUs that "
                                "this container does not have: " +
                                file.why_not_replace});
    return std::nullopt;
}

void change_modes(const std::vector<ModeChange> &changes, std::vector<NodeEdit> &nodes)
{
    constexpr mode_t directory_mode = 0755;
    for (const auto &[path, mode] : changes) {
        bool is_node = false;
        for (NodeEdit &node : nodes) {
            if (node.container_path != path)
                continue;
            node.mode = mode;
            is_node = true;
        }
        if (!is_node && !(mode == directory_mode && has_node_below(path, nodes)))
            throw Error(ErrorKind::Denied,
                        "a specification changes the permissions of " + quote(path) +
                            " in the container, which is none of its device nodes; that is "
                            "not done");
    }
}

} // namespace ogh::cdi_devices
