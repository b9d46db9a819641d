// SPDX-License-Identifier: Apache-2.0
#include "cgroup/cgroup_directory.h"

#include <fcntl.h>
#include <sys/vfs.h>
#include <linux/magic.h>

#include <algorithm>

#include "base/contains.h"
#include "base/path_names.h"
#include "base/text.h"
#include "kernel/openat2.h"

namespace ogh {

namespace {

bool is_of(int fd, long magic)
{
    struct statfs filesystem {};
    return ::fstatfs(fd, &filesystem) == 0 && filesystem.f_type == magic;
}

/** "" for the root. */
std::string parent_of(const std::string &path)
{
    return path == "/" ? "" : directory_of(path);
}

bool is_named_by(const std::string &path, const std::string &name)
{
    return name != "/" && path.ends_with(name);
}

/** What the last components of the cgroup may be, each with "/" in front. */
std::vector<std::string> names_of(const std::string &cgroups_path)
{
    if (cgroups_path.empty())
        return {};
    std::vector<std::string> names = {without_dots(cgroups_path)};
    const std::vector<std::string> parts = split_list(cgroups_path, ':');
    if (parts.size() != 3 || cgroups_path.find('/') != std::string::npos)
        return names;
    const std::string &prefix = parts[1];
    const std::string &name = parts[2];
    if (name.ends_with(".slice"))
        return {"/" + name};
    names.push_back("/" + prefix + "-" + name + ".scope");
    if (prefix.empty())
        names.push_back("/" + name + ".scope");
    return names;
}

} // namespace

CgroupDirectory open_cgroup(const MountTable &mounts, const std::string &controller, const std::string &path)
{
    const long magic = controller.empty() ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC;
    CgroupDirectory found;
    for (const CgroupMount &mount : mounts.cgroup_mounts(controller)) {
        const std::optional<std::string> below = path_below(path, mount.root);
        const UniqueFd top(::open(mount.point.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!below || !top.valid() || !is_of(top.get(), magic))
            continue;
        found.is_shown = true;
        auto directory =
            find_path(top.get(), *below, O_RDONLY | O_DIRECTORY, Walk::OneStep, "the cgroup " + quote(path));
        if (directory) {
            found.fd = std::move(*directory);
            break;
        }
    }
    return found;
}

std::optional<Cgroup> parent_of(const Cgroup &cgroup)
{
    Cgroup parent{UniqueFd(::openat(cgroup.fd.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                  directory_of(cgroup.path)};
    if (!parent.fd.valid() || !is_of(parent.fd.get(), CGROUP2_SUPER_MAGIC))
        return std::nullopt;
    return parent;
}

std::optional<std::string> cgroup_of(std::string_view proc_cgroup, std::string_view controller)
{
    while (!proc_cgroup.empty()) {
        const std::string_view line = next_part(proc_cgroup, '\n');
        // NUMBER:CONTROLLERS:PATH, where the path may have colons.
        const size_t first = line.find(':');
        const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
        if (second == std::string_view::npos)
            continue;
        for (const std::string_view each : split_views(line.substr(first + 1, second - first - 1))) {
            if (each == controller)
                return std::string(line.substr(second + 1));
        }
    }
    return std::nullopt;
}

std::vector<std::string> container_cgroups(const std::string &init, const std::string &runtime,
                                           const std::string &cgroups_path)
{
    const std::vector<std::string> names = names_of(cgroups_path);
    std::vector<std::string> above; // init's first
    for (std::string path = init; !path.empty() && !is_at_or_below(runtime, path); path = parent_of(path)) {
        above.push_back(path);
        const auto is_it = [&](const std::string &name) { return is_named_by(path, name); };
        if (std::any_of(names.begin(), names.end(), is_it))
            return {above.rbegin(), above.rend()};
    }
    if (above.empty())
        return {};
    return {above.front()};
}

std::vector<std::string> scope_cgroups(const std::vector<std::string> &own, const std::string &runtime,
                                       const std::string &cgroups_path)
{
    std::vector<std::string> found;
    const auto add = [&](const std::string &path) {
        if (path.ends_with(".scope") && !is_at_or_below(runtime, path))
            found.push_back(path);
    };
    if (cgroups_path.empty() && !own.empty())
        add(parent_of(own.front()));
    for (const std::string &path : own)
        add(path);
    return found;
}

std::optional<std::string> path_below(const std::string &path, const std::string &mount_root)
{
    if (!is_at_or_below(path, mount_root))
        return std::nullopt;
    std::string below = path.substr(mount_root == "/" ? 0 : mount_root.size());
    below.erase(0, below.find_first_not_of('/'));
    // Seen from a cgroup namespace, what is outside is above the root.
    if ((below + "/").starts_with("../"))
        return std::nullopt;
    return below.empty() ? "." : below;
}

} // namespace ogh
