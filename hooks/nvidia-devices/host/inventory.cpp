// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/host/inventory.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "host/host_file.h"
#include "kernel/folder_entries.h"

namespace ogh::nvidia_devices {

namespace {

constexpr const char *driver_folder = "/proc/driver/nvidia";
constexpr size_t max_file_size = 65536;
constexpr size_t max_gpus = 1024; // the driver has 248 minor numbers

/** Driver 550.40 renamed them. */
constexpr std::array<std::string_view, 3> gpu_devices{"nvidia", "nvidia-frontend", "nvidiactl"};

void set_problem(Gpu &gpu, ExitCode code, const std::string &problem)
{
    gpu.problem_code = code;
    gpu.problem = problem;
}

Gpu read_gpu(int folder, const std::string &name, const PciAddress &address, const std::string &what)
{
    Gpu gpu{address, name, {}, "", ExitCode::Success};
    try {
        const auto text = read_file_in(folder, name + "/information", max_file_size, what + "'s information");
        if (!text)
            throw Error(ExitCode::Host, "the driver says nothing about it: " + what + " has no information");
        gpu.information = parse_gpu_information(*text);
        if (gpu.information.is_excluded)
            set_problem(gpu, ExitCode::NotAvailable, "the driver's settings exclude it (NVreg_ExcludedGpus)");
        else if (!gpu.information.minor)
            set_problem(gpu, ExitCode::Host, "the driver gives it no usable device minor, in " + what);
    } catch (const Error &error) {
        set_problem(gpu, error.code(), error.what());
    }
    return gpu;
}

void read_gpus(const Sysroot &sysroot, Inventory &inventory, Notes &notes)
{
    std::vector<Gpu> &gpus = inventory.gpus;
    const auto folder = sysroot.find(std::string(driver_folder) + "/gpus");
    if (!folder)
        return;
    const std::string what = sysroot.on_host(folder->path);
    inventory.gpus_folder = what;
    const std::string below = what + "/";
    const auto is_any_gpu = [](std::string_view name) { return !name.starts_with('.'); };
    for (const auto &entry :
         list_folder(folder->fd.get(), {quote(what), is_any_gpu, max_gpus, ExitCode::Host})) {
        if (const auto address = parse_pci_address(entry.name))
            gpus.push_back(read_gpu(folder->fd.get(), entry.name, *address, quote(below + entry.name)));
        else
            notes.push_back({LogLevel::Info, quote(below + entry.name) + " is no PCI address, ignoring"});
    }
    std::stable_sort(gpus.begin(), gpus.end(),
                     [](const Gpu &a, const Gpu &b) { return a.address < b.address; });
}

/** A node is known by its minor number alone: two GPUs of one number could not be told apart by any policy. */
void refuse_shared_minors(std::vector<Gpu> &gpus)
{
    for (Gpu &gpu : gpus) {
        const auto same = std::count_if(gpus.begin(), gpus.end(), [&](const Gpu &other) {
            return !other.information.is_excluded && other.information.minor == gpu.information.minor;
        });
        if (same > 1 && gpu.problem.empty())
            set_problem(gpu, ExitCode::Host,
                        "the driver gives another GPU the same device minor, " +
                            std::to_string(*gpu.information.minor));
    }
}

/** A GPU that may be divided, and cannot be told how, is not given as if it were whole. */
void find_instances(const Sysroot &sysroot, Inventory &inventory)
{
    const MigReader reader(sysroot);
    inventory.capabilities_folder = reader.folder();
    for (Gpu &gpu : inventory.gpus) {
        if (!gpu.problem.empty())
            continue;
        try {
            auto instances = reader.instances_of(*gpu.information.minor);
            gpu.is_divided = instances.has_value();
            gpu.instances = std::move(instances).value_or(std::vector<MigInstance>());
        } catch (const Error &error) {
            set_problem(gpu, ExitCode::Host, error.what());
        }
    }
}

} // namespace

Inventory find_gpus(const Sysroot &sysroot, Notes &notes)
{
    Inventory inventory;
    const auto driver = sysroot.find(driver_folder);
    if (!driver)
        return inventory;
    const auto read = [&](const std::string &name) {
        return read_file_in(driver->fd.get(), name, max_file_size,
                            quote(sysroot.on_host(std::string(driver_folder) + "/" + name)));
    };
    const auto version = read("version");
    if (!version)
        return inventory;
    inventory.has_driver = true;
    inventory.host_root = sysroot.on_host("");
    inventory.version_text = *version;
    inventory.version = parse_driver_version(*version);
    if (!inventory.version)
        notes.push_back({LogLevel::Warning, "the driver's version cannot be understood: " + quote(*version)});
    inventory.params = read("params").value_or("");
    inventory.registry = read("registry");
    inventory.devices = read_proc_devices(sysroot);
    read_gpus(sysroot, inventory, notes);
    refuse_shared_minors(inventory.gpus);
    find_instances(sysroot, inventory);
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
        throw Error(ExitCode::NotAvailable,
                    "this host has no NVIDIA driver (no " + std::string(driver_folder) + "/version)");
}

void require_gpu(const Inventory &inventory)
{
    require_driver(inventory);
    if (inventory.gpus.empty())
        throw Error(ExitCode::NotAvailable,
                    "this host has no NVIDIA GPU (its driver is loaded, and there is none in " +
                        std::string(driver_folder) + "/gpus)");
}

unsigned gpu_major(const Inventory &inventory)
{
    for (const std::string_view name : gpu_devices) {
        if (const auto number = inventory.devices.major_of(name))
            return *number;
    }
    throw Error(ExitCode::Host, "the nvidia driver is loaded, but /proc/devices has no device of it");
}

unsigned module_major(const Inventory &inventory, std::string_view name)
{
    if (const auto number = inventory.devices.major_of(name))
        return *number;
    const std::string module(name);
    throw Error(ExitCode::Host, "the kernel module " + module + " is not loaded; 'modprobe " + module +
                                    "' on the host loads it, and a line '" + module +
                                    "' in /etc/modules-load.d/" + module + ".conf does at every start");
}

} // namespace ogh::nvidia_devices
