// SPDX-License-Identifier: Apache-2.0
#include "kernel/stall.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "kernel/awaited_path.h"

namespace ogh {

namespace {

/** As the container names what is at or below its root; nothing for another path. */
std::optional<std::string> inner_name(const std::string &path, const std::string &rootfs)
{
    if (rootfs.empty() || !path.starts_with(rootfs))
        return std::nullopt;
    if (path.size() == rootfs.size())
        return "/";
    return path[rootfs.size()] == '/' ? std::optional(path.substr(rootfs.size())) : std::nullopt;
}

std::string place(const std::string &path, const std::string &rootfs)
{
    const auto inner = inner_name(path, rootfs);
    return inner ? quote(*inner) + " in the container" : quote(path);
}

std::vector<std::string> names_of(const std::vector<TypedMount> &mounts, const std::string &rootfs)
{
    std::vector<std::string> inside;
    std::vector<std::string> all;
    for (const TypedMount &mount : mounts) {
        const auto inner = inner_name(mount.point, rootfs);
        const std::string type = " (" + as_utf8(mount.type) + ")";
        all.push_back(quote(inner.value_or(mount.point)) + type);
        if (inner)
            inside.push_back(all.back());
    }
    return inside.empty() ? all : inside;
}

std::string listed(const std::vector<std::string> &names)
{
    constexpr size_t shown = 4;
    std::string text;
    for (size_t i = 0; i < std::min(names.size(), shown); ++i)
        text += (i == 0 ? "" : ", ") + names[i];
    return names.size() > shown ? text + ", and " + std::to_string(names.size() - shown) + " more" : text;
}

} // namespace

std::string describe_stall(pid_t pid, const std::string &rootfs, const std::vector<TypedMount> &served)
{
    const auto path = awaited_path(pid);
    return (path ? " at " + place(*path, rootfs) : std::string()) +
           "; mounts that another process or machine has to answer for: " + listed(names_of(served, rootfs)) +
           ". See to those, or start the container without them";
}

} // namespace ogh
