// SPDX-License-Identifier: Apache-2.0
#include "host/drm_nodes.h"

#include <string_view>

#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "host/host_file.h"
#include "kernel/directory_entries.h"

namespace ogh {

namespace {

constexpr size_t max_nodes = 64;
constexpr size_t max_number_size = 64;
constexpr std::string_view card_prefix = "card";
constexpr std::string_view render_prefix = "renderD";

/** Connectors are called "card1-DP-1". */
bool is_node(std::string_view name, std::string_view prefix)
{
    return name.starts_with(prefix) && parse_small_number(name.substr(prefix.size()), max_minor);
}

/** "226:129", as each node's `dev` file has it. */
std::optional<DrmNode> read_node(int directory, const std::string &name, const std::string &what)
{
    const auto text =
        read_file_in(directory, name + "/dev", max_number_size, quote(what + "/" + name + "/dev"));
    if (!text)
        return std::nullopt; // being taken away at this moment
    const auto number = parse_device_number(*text);
    if (!number)
        throw Error(ErrorKind::BrokenHost, quote(what + "/" + name + "/dev") + " has no device number");
    return DrmNode{name, number->major, number->minor};
}

} // namespace

DrmNodes read_drm_nodes(const Sysroot &sysroot, const std::string &device)
{
    DrmNodes nodes;
    const std::string path = device + "/drm";
    const auto directory = sysroot.find(path);
    if (!directory)
        return nodes;
    const std::string what = sysroot.on_host(path);
    const auto is_any_node = [](std::string_view name) {
        return is_node(name, card_prefix) || is_node(name, render_prefix);
    };
    for (const auto &entry :
         list_directory(directory->fd.get(), {quote(what), is_any_node, max_nodes, ErrorKind::BrokenHost})) {
        std::optional<DrmNode> &node = is_node(entry.name, card_prefix) ? nodes.card : nodes.render;
        if (!node)
            node = read_node(directory->fd.get(), entry.name, what);
    }
    return nodes;
}

std::string sysfs_directory(const PciAddress &address)
{
    return "/sys/bus/pci/devices/" + to_text(address);
}

std::string by_path_name(const PciAddress &address, const DrmNode &node)
{
    return "pci-" + to_text(address) + (node.name.starts_with(render_prefix) ? "-render" : "-card");
}

} // namespace ogh
