// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/plan/driver_plan.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "nvidia/driver_params.h"
#include "nvidia/egl_profile.h"

namespace ogh::cdi_devices {

namespace {

/** Of a GPU's node; nothing for others, such as /dev/nvidiactl. */
std::optional<unsigned> gpu_minor(const NodeEdit &node)
{
    constexpr std::string_view start = "/dev/nvidia";
    const std::string_view path = node.container_path;
    const bool is_gpu = path.starts_with(start) && path.size() > start.size() &&
                        path.find_first_not_of("0123456789", start.size()) == std::string_view::npos;
    return is_gpu ? std::optional(node.minor) : std::nullopt;
}

bool has_node_below(const std::string &folder, const std::vector<NodeEdit> &nodes)
{
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](const NodeEdit &node) { return node.container_path.starts_with(folder + "/"); });
}

} // namespace

TmpfsEdit plan_driver_proc(const DriverProc &proc)
{
    TmpfsEdit edit{driver_proc_folder};
    for (const auto &[name, content] : proc.files)
        edit.files.push_back({name, content});
    edit.files.push_back({"params", params_for_container(proc.params)});
    for (const std::string &name : proc.folders)
        edit.mounts.push_back({proc.path + "/" + name, std::string(driver_proc_folder) + "/" + name});
    return edit;
}

std::optional<FileEdit> plan_egl_profile(const std::vector<NodeEdit> &nodes, const LoaderFile &file,
                                         Notes &notes)
{
    std::set<unsigned> minors;
    for (const NodeEdit &node : nodes)
        if (const auto number = gpu_minor(node))
            minors.insert(*number);
    const std::string content = egl_profile(minors);
    if (minors.empty() || (file.state == LoaderFile::State::Plain && file.content == content))
        return std::nullopt;
    std::string why = file.replace_obstacle;
    if (why.empty() && file.is_mount)
        why = "something is mounted on it";
    if (why.empty())
        return FileEdit{egl_profile_path, content};
    notes.push_back(
        {LogLevel::Warning, quote(egl_profile_path) +
                                " is not written, so that programs with EGL may look for GPUs that "
                                "this container does not have: " +
                                why});
    return std::nullopt;
}

void change_modes(const std::vector<ModeChange> &changes, std::vector<NodeEdit> &nodes)
{
    constexpr mode_t folder_mode = 0755;
    for (const auto &[path, mode] : changes) {
        bool is_node = false;
        for (NodeEdit &node : nodes) {
            if (node.container_path != path)
                continue;
            node.mode = mode;
            is_node = true;
        }
        if (!is_node && !(mode == folder_mode && has_node_below(path, nodes)))
            throw Error(ExitCode::Policy, "a specification changes the permissions of " + quote(path) +
                                              " in the container, which is none of its device nodes; that is "
                                              "not done");
    }
}

} // namespace ogh::cdi_devices
