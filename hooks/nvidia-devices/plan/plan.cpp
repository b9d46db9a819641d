// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/plan/plan.h"

#include <optional>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "nvidia/driver_params.h"

namespace ogh::nvidia_devices {

namespace {

unsigned caps_major(const Inventory &inventory)
{
    const auto number = inventory.devices.major_of(caps_devices);
    if (!number)
        throw Error(ErrorKind::BrokenHost,
                    "this host cannot give instances of GPUs (MIG): its nvidia driver has no " +
                        std::string(caps_devices) + " in /proc/devices");
    return *number;
}

/**
 * Adds the nodes of the chosen instances (MIG), and their files `access` in /proc, of no others. Pure.
 * @param edits with Edits::proc
 * @throws Error (BrokenHost) if the driver has no such nodes
 */
void plan_instances(const GpuSelection &selection, const Inventory &inventory, Edits &edits)
{
    if (selection.instances.empty())
        return;
    const unsigned major_number = caps_major(inventory);
    std::set<unsigned> seen; // the compute instances of one GPU instance have that one's in common
    const auto add = [&](const std::optional<CapNode> &node, const std::string &access) {
        if (!node)
            throw Error(ErrorKind::Failure, "nobody has looked at the instance of " + quote(access));
        if (!seen.insert(node->minor).second)
            return;
        const std::string path = cap_node_path(*node);
        edits.nodes.push_back({path, inventory.host_root + path, major_number, node->minor, node->mode});
        edits.proc->mounts.push_back({inventory.capabilities_directory + "/" + access,
                                      std::string(capabilities_directory) + "/" + access, Kind::File});
    };
    for (const auto &[gpu, place] : selection.instances) {
        const MigInstance &instance = inventory.gpus[gpu].instances[place];
        const unsigned gpu_minor = inventory.gpus[gpu].information.minor.value();
        add(instance.gpu_node, gpu_instance_access(gpu_minor, instance.gpu_instance));
        add(instance.compute_node, compute_instance_access(gpu_minor, instance));
    }
}

// Minor numbers that the driver gives its own nodes.
constexpr unsigned modeset_minor = 254;
constexpr unsigned uvm_minor = 0;
constexpr unsigned uvm_tools_minor = 1;

constexpr const char *imex_path = "/dev/nvidia-caps-imex-channels/channel";

void add_dri(const GpuSelection &selection, const Inventory &inventory, const DeviceNodes &host, Edits &edits,
             Notes &notes)
{
    const LogLevel level =
        selection.capabilities.named.has_any(for_graphics) ? LogLevel::Warning : LogLevel::Info;
    // Few instances can draw, and which they are is not known here.
    if (!selection.instances.empty() && selection.capabilities.has_any(for_graphics))
        notes.push_back({level, "instances of a GPU (MIG) get no node of it in /dev/dri"});
    for (const auto &[gpu, drm] : host.drm) {
        const PciAddress &address = inventory.gpus[gpu].address;
        add_drm_nodes(drm, inventory.host_root, "pci-" + to_text(address), edits);
        if (!drm.card && !drm.render)
            notes.push_back(
                {level, "GPU " + to_text(address) +
                            " has no node in /dev/dri; 'modprobe nvidia-drm' on the host makes it one"});
    }
}

void plan_nodes(const GpuSelection &selection, const Inventory &inventory, const DeviceNodes &host,
                Edits &edits, Notes &notes)
{
    const Capabilities &capabilities = selection.capabilities;
    const auto add_of_driver = [&](const std::string &path, unsigned major_number, unsigned minor_number) {
        edits.nodes.push_back(driver_node(inventory.host_root, path, {major_number, minor_number}));
    };
    const unsigned gpus = gpu_major(inventory);
    for (const size_t gpu : selection.gpus) // what has no number has a problem, and is not chosen
        edits.nodes.push_back(host_node(inventory.host_root, node_path(inventory.gpus[gpu]),
                                        {gpus, inventory.gpus[gpu].information.minor.value()}));
    add_of_driver(control_path, gpus, control_minor);
    if (capabilities.has_any(for_compute)) {
        const unsigned uvm = module_major(inventory, uvm_devices);
        add_of_driver("/dev/nvidia-uvm", uvm, uvm_minor);
        add_of_driver("/dev/nvidia-uvm-tools", uvm, uvm_tools_minor);
    }
    // On servers without any display the module may well be absent: who asks for `all` need not know.
    const bool is_named = capabilities.named.has(Capability::Display);
    if (is_named || (capabilities.has(Capability::Display) && inventory.devices.major_of(modeset_devices)))
        add_of_driver("/dev/nvidia-modeset", module_major(inventory, modeset_devices), modeset_minor);
    else if (capabilities.has(Capability::Display))
        notes.push_back({LogLevel::Info, "the node of display is left out of 'all': the kernel module " +
                                             std::string(modeset_devices) + " is not loaded"});
    add_dri(selection, inventory, host, edits, notes);
    for (const unsigned channel : selection.imex_channels)
        add_of_driver(imex_path + std::to_string(channel), module_major(inventory, imex_devices), channel);
    edits.nodes.insert(edits.nodes.end(), host.named.begin(), host.named.end());
}

/** Of the GPUs that the host has, a container sees its own. */
TmpfsEdit plan_proc(const std::vector<size_t> &gpus, const Inventory &inventory)
{
    TmpfsEdit proc = plan_driver_proc(inventory.proc);
    for (const size_t gpu : gpus) {
        const std::string &name = inventory.gpus[gpu].directory;
        proc.mounts.push_back(
            {inventory.gpus_directory + "/" + name, std::string(driver_proc_directory) + "/gpus/" + name});
    }
    return proc;
}

} // namespace

Edits NvidiaInputs::plan(Notes &notes) const
{
    check_requirements(requirements, inventory.version.value_or(""), notes);
    Edits edits;
    if (!selection.gpus.empty())
        plan_nodes(selection, inventory, nodes, edits, notes);
    edits.proc = plan_proc(selection.gpus, inventory);
    plan_instances(selection, inventory, edits);
    plan_driver_tree(tree, image, edits, notes);
    return edits;
}

} // namespace ogh::nvidia_devices
