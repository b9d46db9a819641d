// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/plan/combined_edits.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ogh::cdi_devices {

namespace {

template<typename Item> void append(std::vector<Item> &list, const std::vector<Item> &more)
{
    list.insert(list.end(), more.begin(), more.end());
}

void add(cdi::ContainerEdits &all, const cdi::ContainerEdits &edits)
{
    append(all.env, edits.env);
    append(all.nodes, edits.nodes);
    append(all.mounts, edits.mounts);
    append(all.hooks, edits.hooks);
    append(all.groups, edits.groups);
    append(all.net_devices, edits.net_devices);
    all.intel_rdt = all.intel_rdt || edits.intel_rdt;
}

/** Keeps the last of those with the same path, in its place. */
template<typename Item> void keep_last(std::vector<Item> &list, std::string Item::*path)
{
    std::set<std::string_view> seen;
    std::vector<bool> is_last(list.size());
    for (size_t i = list.size(); i-- > 0;)
        is_last[i] = seen.insert(list[i].*path).second;
    auto kept = is_last.begin();
    std::erase_if(list, [&](const Item & /*item*/) { return !*kept++; });
}

/** How many names its path has. */
size_t depth(const cdi::Mount &mount)
{
    const std::string &path = mount.container_path;
    size_t names = 0;
    for (size_t i = 1; i < path.size(); ++i)
        names += path[i] != '/' && path[i - 1] == '/' ? 1U : 0U;
    return names;
}

} // namespace

cdi::ContainerEdits combine(const std::vector<FoundDevice> &devices)
{
    cdi::ContainerEdits all;
    std::set<const cdi::SpecFile *> seen;
    for (const auto &[file, device] : devices) {
        if (seen.insert(file).second)
            add(all, file->spec.edits);
        add(all, device->edits);
    }
    keep_last(all.nodes, &cdi::DeviceNode::path);
    keep_last(all.mounts, &cdi::Mount::container_path);
    std::stable_sort(
        all.mounts.begin(), all.mounts.end(),
        [](const cdi::Mount &one, const cdi::Mount &other) { return depth(one) < depth(other); });
    return all;
}

} // namespace ogh::cdi_devices
