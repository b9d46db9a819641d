// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/host/inventory.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/dotted_version.h"
#include "base/number.h"
#include "base/text.h"
#include "host/host_file.h"
#include "nvidia/mig.h"

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
std::optional<NodeEdit> read_node(const Sysroot &sysroot, const std::string &path, const std::string &device)
{
    const std::string file = device + "/dev";
    const auto text = read_host_file(sysroot, file, max_number_size);
    if (!text)
        return std::nullopt;
    const auto number = parse_device_number(*text);
    if (!number)
        throw Error(ErrorKind::BrokenHost, quote(sysroot.on_host(file)) + " has no device number");
    return driver_node(sysroot.on_host(""), path, *number);
}

std::vector<NodeEdit> read_nodes(const Sysroot &sysroot, const SysfsDevices &devices)
{
    std::vector<NodeEdit> nodes;
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

constexpr size_t max_file_size = 65536;
constexpr std::string_view module_text = "Kernel Module";

/** By what NVIDIA's own tools go by: a file of JetPack's, or what the chip says it is. */
bool looks_like_tegra(const Sysroot &sysroot)
{
    if (sysroot.find("/etc/nv_tegra_release"))
        return true;
    const auto family = read_host_file(sysroot, "/sys/devices/soc0/family", max_file_size);
    return family && (family->starts_with("Tegra") || family->starts_with("tegra"));
}

/** Behind a message that there is no GPU. */
std::string way_of_tegra(const Inventory &inventory)
{
    return inventory.is_tegra ? "; it is a Jetson (Tegra), whose GPU the hook cdi-devices gives, by the "
                                "specification that 'nvidia-ctk cdi generate' writes"
                              : "";
}

} // namespace

DeviceNodes read_device_nodes(const Sysroot &sysroot, const Inventory &inventory,
                              const GpuSelection &selection)
{
    DeviceNodes nodes;
    if (selection.gpus.empty())
        return nodes;
    const Capabilities &capabilities = selection.capabilities;
    if (capabilities.has_any(for_graphics)) {
        const auto devices = sysroot.find(pci_devices_directory);
        for (const size_t gpu : selection.gpus) {
            if (!inventory.gpus[gpu].is_divided)
                nodes.drm[gpu] = devices
                                     ? read_drm_nodes(devices->fd.get(), to_text(inventory.gpus[gpu].address),
                                                      sysroot.on_host(devices->path))
                                     : DrmNodes();
        }
    }
    for (const SysfsDevices &devices : sysfs_devices) {
        if (!capabilities.has(devices.capability))
            continue;
        const auto found = read_nodes(sysroot, devices);
        nodes.named.insert(nodes.named.end(), found.begin(), found.end());
    }
    if (capabilities.has(Capability::Gdrcopy))
        nodes.named.push_back(
            driver_node(inventory.host_root, "/dev/gdrdrv", {module_major(inventory, "gdrdrv"), 0}));
    if (capabilities.has(Capability::Mofed)) {
        if (auto node = read_node(sysroot, "/dev/infiniband/rdma_cm", "/sys/class/misc/rdma_cm"))
            nodes.named.push_back(std::move(*node));
    }
    return nodes;
}

std::optional<std::string> parse_driver_version(std::string_view text)
{
    const std::string_view line = text.substr(0, text.find('\n'));
    const size_t module = line.find(module_text);
    if (module == std::string_view::npos)
        return std::nullopt;
    const auto words = split_list(line.substr(module + module_text.size()), ' ');
    const auto version = std::find_if(words.begin(), words.end(), is_driver_version);
    return version == words.end() ? std::nullopt : std::optional(*version);
}

namespace {

/** What the driver says, if it is loaded. */
Inventory read_driver(const Sysroot &sysroot, Notes &notes)
{
    Inventory inventory;
    inventory.proc = read_driver_proc(sysroot);
    if (!inventory.proc.version)
        return inventory;
    const std::string &version = *inventory.proc.version;
    inventory.has_driver = true;
    inventory.host_root = sysroot.on_host("");
    inventory.version = parse_driver_version(version);
    if (!inventory.version)
        notes.push_back({LogLevel::Warning, "the driver's version cannot be understood: " + quote(version)});
    inventory.devices = read_proc_devices(sysroot);
    static_cast<ListedGpus &>(inventory) = list_nvidia_gpus(sysroot, notes);
    return inventory;
}

} // namespace

Inventory find_gpus(const Sysroot &sysroot, Notes &notes)
{
    Inventory inventory = read_driver(sysroot, notes);
    inventory.is_tegra = inventory.gpus.empty() && looks_like_tegra(sysroot);
    return inventory;
}

void read_instances(const Sysroot &sysroot, Inventory &inventory, const std::vector<InstancePlace> &places)
{
    if (places.empty())
        return;
    MigReader reader(sysroot);
    for (const auto &[gpu, place] : places) {
        MigInstance &instance = inventory.gpus[gpu].instances[place];
        if (!instance.compute_node && instance.problem.empty())
            reader.read_nodes(inventory.gpus[gpu].information.minor.value(), instance);
    }
}

Inventory read_inventory(const Sysroot &sysroot, Notes &notes)
{
    Inventory inventory = find_gpus(sysroot, notes);
    read_instances(sysroot, inventory, instance_places(inventory));
    return inventory;
}

std::vector<InstancePlace> instance_places(const Inventory &inventory)
{
    std::vector<InstancePlace> places;
    for (size_t gpu = 0; gpu < inventory.gpus.size(); ++gpu) {
        for (size_t i = 0; i < inventory.gpus[gpu].instances.size(); ++i)
            places.push_back({gpu, i});
    }
    return places;
}

std::string node_path(const Gpu &gpu)
{
    return "/dev/nvidia" + std::to_string(gpu.information.minor.value_or(0));
}

void read_access(const Sysroot &sysroot, Inventory &inventory)
{
    for (Gpu &gpu : inventory.gpus) {
        if (!gpu.problem.empty())
            continue;
        gpu.access =
            read_node_access(sysroot, node_path(gpu), {gpu_major(inventory), *gpu.information.minor});
        const auto caps = inventory.devices.major_of(caps_devices);
        for (MigInstance &instance : gpu.instances) {
            const auto &node = instance.compute_node;
            instance.access = caps && node ? read_node_access(sysroot, cap_node_path(*node),
                                                              {*caps, node->minor}, node->mode)
                                           : NodeAccess::NoNode;
        }
    }
}

void require_driver(const Inventory &inventory)
{
    if (!inventory.has_driver)
        throw Error(ErrorKind::NotAvailable, "this host has no NVIDIA driver (no " +
                                                 std::string(driver_proc_directory) + "/version)" +
                                                 way_of_tegra(inventory));
}

void require_gpu(const Inventory &inventory)
{
    require_driver(inventory);
    if (inventory.gpus.empty())
        throw Error(ErrorKind::NotAvailable,
                    "this host has no NVIDIA GPU (its driver is loaded, and there is none in " +
                        std::string(driver_proc_directory) + "/gpus)" + way_of_tegra(inventory));
}

unsigned gpu_major(const Inventory &inventory)
{
    for (const std::string_view name : driver_devices) {
        if (const auto number = inventory.devices.major_of(name))
            return *number;
    }
    throw Error(ErrorKind::BrokenHost, "the nvidia driver is loaded, but /proc/devices has no device of it");
}

unsigned module_major(const Inventory &inventory, std::string_view name)
{
    if (const auto number = inventory.devices.major_of(name))
        return *number;
    const std::string module(name);
    throw Error(ErrorKind::BrokenHost, "the kernel module " + module + " is not loaded; 'modprobe " + module +
                                           "' on the host loads it, and a line '" + module +
                                           "' in /etc/modules-load.d/" + module +
                                           ".conf does at every start");
}

} // namespace ogh::nvidia_devices
