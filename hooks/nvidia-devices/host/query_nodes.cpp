// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/host/query_nodes.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "kernel/inode.h"

namespace ogh::nvidia_devices {

namespace {

constexpr const char *caps_folder = "/dev/nvidia-caps";

/** @return nothing if it is not there */
std::optional<QueryNode> find_query_node(const Sysroot &sysroot, const std::string &path, dev_t number)
{
    auto place = sysroot.find(path);
    if (!place)
        return std::nullopt;
    const std::string shown = quote(sysroot.on_host(path));
    const Inode inode = Inode::of(place->fd.get(), shown);
    if (!inode.is_node(S_IFCHR, number))
        throw Error(ErrorKind::BrokenHost, shown + " is not the driver's device " +
                                               std::to_string(major(number)) + ":" +
                                               std::to_string(minor(number)));
    constexpr mode_t for_all = S_IROTH | S_IWOTH;
    if ((inode.mode & for_all) != for_all)
        throw Error(ErrorKind::BrokenHost,
                    shown + " is for its owner and its group alone, and NVIDIA's library is "
                            "asked by nobody (user 65534): its mode has to be 0666 for that");
    return QueryNode{std::move(place->fd), path};
}

} // namespace

std::vector<QueryNode> open_query_nodes(const Sysroot &sysroot, const Inventory &inventory)
{
    const unsigned number = gpu_major(inventory);
    std::vector<QueryNode> nodes;
    const auto add = [&](const std::string &path, unsigned minor_number, bool is_needed) {
        auto node = find_query_node(sysroot, path, makedev(number, minor_number));
        if (node)
            nodes.push_back(std::move(*node));
        else if (is_needed)
            throw Error(ErrorKind::BrokenHost,
                        "there is no " + quote(sysroot.on_host(path)) + ", which NVIDIA's library opens");
    };
    add(control_path, control_minor, true);
    for (const Gpu &gpu : inventory.gpus) {
        if (gpu.problem.empty())
            add(node_path(gpu), *gpu.information.minor, gpu.is_divided);
    }
    if (auto folder = sysroot.find(caps_folder))
        nodes.push_back({std::move(folder->fd), caps_folder});
    return nodes;
}

} // namespace ogh::nvidia_devices
