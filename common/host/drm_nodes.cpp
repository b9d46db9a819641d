// SPDX-License-Identifier: Apache-2.0
#include "host/drm_nodes.h"

#include <fcntl.h>

#include <cerrno>
#include <string_view>

#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "base/unique_fd.h"
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

DrmNodes read_drm_nodes(int directory, const std::string &device, const std::string &what)
{
    DrmNodes nodes;
    const std::string path = device + "/drm";
    const std::string shown = what + "/" + path;
    const UniqueFd drm(::openat(directory, path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!drm.valid() && errno == ENOENT)
        return nodes;
    if (!drm.valid())
        throw SystemError(errno, "cannot open " + quote(shown), ErrorKind::BrokenHost);
    const auto is_any_node = [](std::string_view name) {
        return is_node(name, card_prefix) || is_node(name, render_prefix);
    };
    for (const auto &entry :
         list_directory(drm.get(), {quote(shown), is_any_node, max_nodes, ErrorKind::BrokenHost})) {
        std::optional<DrmNode> &node = is_node(entry.name, card_prefix) ? nodes.card : nodes.render;
        if (!node)
            node = read_node(drm.get(), entry.name, shown);
    }
    return nodes;
}

std::string sysfs_directory(const PciAddress &address)
{
    return std::string(pci_devices_directory) + "/" + to_text(address);
}

} // namespace ogh
