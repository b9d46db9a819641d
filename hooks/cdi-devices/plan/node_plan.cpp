// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/plan/node_plan.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <string>

#include "base/device_number.h"
#include "base/error.h"
#include "base/text.h"
#include "cdi-devices/plan/target_path.h"

namespace ogh::cdi_devices {

namespace {

Error wrong(const cdi::DeviceNode &node, const std::string &why)
{
    return {ErrorKind::BrokenHost, "the specification's device node " + quote(node.path) + " " + why};
}

mode_t type_of(const std::string &letter)
{
    if (letter == "b")
        return S_IFBLK;
    return letter == "p" ? S_IFIFO : S_IFCHR; // u is another word for c
}

std::string letter_of(mode_t mode)
{
    return S_ISBLK(mode) ? "b" : S_ISCHR(mode) ? "c" : S_ISFIFO(mode) ? "p" : "";
}

/** Whether it says all that the host's node could tell. */
bool is_whole(const cdi::DeviceNode &node)
{
    return !node.type.empty() && (node.major != 0 || node.type == "p");
}

void check_host(const cdi::DeviceNode &node, const HostFile &host)
{
    const std::string what = quote(host_path_of(node));
    if (host.mode == 0)
        throw wrong(node,
                    "is not on this host: there is no " + what +
                        "; the specification may be older than the driver, or the driver not be loaded yet");
    const std::string letter = letter_of(host.mode);
    if (letter.empty())
        throw wrong(node, "is none on this host: " + what +
                              (S_ISLNK(host.mode) ? " is a symlink" : " is no device"));
    if (!node.type.empty() && node.type != letter)
        throw wrong(node,
                    "has the type " + quote(node.type) + ", and " + what + " of this host " + quote(letter));
}

unsigned number_within(std::int64_t number, unsigned most, const cdi::DeviceNode &node)
{
    if (number < 0 || number > most)
        throw wrong(node, "has the number " + std::to_string(number) + ", which no device has");
    return static_cast<unsigned>(number);
}

unsigned access_of(const std::string &permissions)
{
    if (permissions.empty())
        return access_read | access_write | access_mknod;
    if (permissions == "none")
        return 0;
    const auto has = [&](char letter) { return permissions.find(letter) != std::string::npos; };
    return (has('r') ? access_read : 0) | (has('w') ? access_write : 0) | (has('m') ? access_mknod : 0);
}

mode_t mode_of(const cdi::DeviceNode &node, const HostFile &host)
{
    constexpr mode_t permissions = 0777; // a node needs no more
    if (node.file_mode)
        return *node.file_mode & permissions;
    return host.mode != 0 ? host.mode & permissions : NodeEdit().mode;
}

/**
 * A device node as the reference implementation makes it: numbers and permissions that the specification does not say are
 * those of the host's node, and it belongs to the container's user. Pure.
 * @param host what the host has at host_path_of(node)
 * @throws Error: BrokenHost if the host has none, or another one; Policy as node_target()
 */
NodeEdit plan_node(const cdi::DeviceNode &node, const HostFile &host, const NodeOwner &user)
{
    if (!is_whole(node))
        check_host(node, host);
    NodeEdit edit;
    edit.container_path = node_target(node.path);
    edit.host_path = host.path;
    edit.type = node.type.empty() ? host.mode & S_IFMT : type_of(node.type);
    const bool is_fifo = S_ISFIFO(edit.type);
    if (!is_fifo) {
        const bool of_host = node.major == 0;
        edit.major = of_host ? major(host.device) : number_within(node.major, max_major, node);
        edit.minor = of_host ? minor(host.device) : number_within(node.minor, max_minor, node);
    }
    edit.mode = mode_of(node, host);
    edit.access = is_fifo ? 0 : access_of(node.permissions);
    edit.owner = {.uid = node.uid.value_or(user.uid), .gid = node.gid.value_or(user.gid)};
    return edit;
}

/**
 * What a mount of a device node comes to, such as Intel's of the links in /dev/dri/by-path: another name for it, without
 * a rule of the device cgroup, which a mount brings none of. Every mount of this collection is nodev. Pure.
 * @param host a device node
 * @throws Error as node_target()
 */
NodeEdit plan_mounted_node(const cdi::Mount &mount, const HostFile &host, const NodeOwner &user)
{
    NodeEdit edit;
    edit.container_path = node_target(mount.container_path);
    edit.host_path = host.path;
    edit.type = host.mode & S_IFMT;
    edit.major = major(host.device);
    edit.minor = minor(host.device);
    edit.mode = mode_of({}, host);
    edit.access = 0;
    edit.owner = user;
    return edit;
}

} // namespace

std::vector<NodeEdit> plan_nodes(const cdi::ContainerEdits &edits, const HostFiles &host,
                                 const NodeOwner &user)
{
    std::vector<NodeEdit> nodes;
    for (const cdi::DeviceNode &node : edits.nodes)
        if (const auto found = host.nodes.find(host_path_of(node)); found != host.nodes.end())
            nodes.push_back(plan_node(node, found->second, user));
    for (const cdi::Mount &mount : edits.mounts)
        if (const auto found = host.mounts.find(mount.host_path);
            found != host.mounts.end() && is_device(found->second))
            nodes.push_back(plan_mounted_node(mount, found->second, user));
    return nodes;
}

DeviceNodes nodes_of(const FoundDevice &found, const HostFiles &host)
{
    const NodeOwner anybody{};
    return {plan_nodes(found.device->edits, host, anybody),
            plan_nodes(found.file->spec.edits, host, anybody)};
}

} // namespace ogh::cdi_devices
