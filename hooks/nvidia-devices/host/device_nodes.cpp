// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/host/device_nodes.h"

#include <array>
#include <optional>
#include <string_view>

#include "base/device_number.h"
#include "base/text.h"
#include "host/host_file.h"
#include "nvidia/numbered_names.h"

namespace ogh::nvidia_devices {

namespace {

constexpr size_t max_number_size = 64;

/** Devices that sysfs has the numbers of. */
struct SysfsDevices {
    Capability capability;
    const char *directory; ///< in sysfs
    std::string_view prefix;
    const char *in_dev; ///< where the nodes are
    const char *what;   ///< for messages
    const char *module;
};

constexpr std::array<SysfsDevices, 2> sysfs_devices{
    {{Capability::Gds, "/sys/class/nvidia-fs-class", "nvidia-fs", "/dev/", "device of GPUDirect Storage",
      "nvidia-fs"},
     {Capability::Mofed, "/sys/class/infiniband_verbs", "uverbs", "/dev/infiniband/", "InfiniBand device",
      "ib_uverbs"}}};

/** "231:192", as each device's `dev` file in sysfs has it; nothing if there is no such device. */
std::optional<NamedNode> read_node(const Sysroot &sysroot, const std::string &path, const std::string &device)
{
    const std::string file = device + "/dev";
    const auto text = read_host_file(sysroot, file, max_number_size);
    if (!text)
        return std::nullopt;
    const auto number = parse_device_number(*text);
    if (!number)
        throw Error(ErrorKind::BrokenHost, quote(sysroot.on_host(file)) + " has no device number");
    return NamedNode{path, number->major, number->minor};
}

std::vector<NamedNode> read_nodes(const Sysroot &sysroot, const SysfsDevices &devices)
{
    std::vector<NamedNode> nodes;
    const auto directory = sysroot.find(devices.directory);
    const auto found = directory ? numbered_names(directory->fd.get(), {sysroot.on_host(devices.directory),
                                                                        devices.prefix, max_minor})
                                 : std::vector<NumberedName>();
    for (const auto &[number, name] : found) {
        if (auto node =
                read_node(sysroot, devices.in_dev + name, std::string(devices.directory) + "/" + name))
            nodes.push_back(std::move(*node));
    }
    if (nodes.empty())
        throw Error(ErrorKind::BrokenHost, "this host has no " + std::string(devices.what) + "; 'modprobe " +
                                               devices.module + "' on the host loads its driver");
    return nodes;
}

} // namespace

DeviceNodes read_device_nodes(const Sysroot &sysroot, const Inventory &inventory,
                              const GpuSelection &selection)
{
    DeviceNodes nodes;
    if (selection.gpus.empty())
        return nodes;
    const Capabilities &capabilities = selection.capabilities;
    if (capabilities.has(Capability::Graphics) || capabilities.has(Capability::Display)) {
        for (const size_t gpu : selection.gpus) {
            if (!inventory.gpus[gpu].is_divided)
                nodes.drm[gpu] = read_drm_nodes(sysroot, sysfs_directory(inventory.gpus[gpu].address));
        }
    }
    for (const SysfsDevices &devices : sysfs_devices) {
        if (!capabilities.has(devices.capability))
            continue;
        const auto found = read_nodes(sysroot, devices);
        nodes.named.insert(nodes.named.end(), found.begin(), found.end());
    }
    if (capabilities.has(Capability::Gdrcopy))
        nodes.named.push_back({"/dev/gdrdrv", module_major(inventory, gdrcopy_devices), 0});
    if (capabilities.has(Capability::Mofed)) {
        if (auto node = read_node(sysroot, "/dev/infiniband/rdma_cm", "/sys/class/misc/rdma_cm"))
            nodes.named.push_back(std::move(*node));
    }
    return nodes;
}

} // namespace ogh::nvidia_devices
