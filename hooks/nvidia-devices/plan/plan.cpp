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

/** Adds each once: the compute instances of one GPU instance have that one's in common. */
class CapNodes final {
public:
    CapNodes(const Inventory &inventory, Edits &edits)
        : inventory_(inventory), edits_(edits), major_(caps_major(inventory))
    {
    }

    void add(const std::optional<CapNode> &node, const std::string &access)
    {
        if (!node)
            throw Error(ErrorKind::Failure, "nobody has looked at the instance of " + quote(access));
        if (!seen_.insert(node->minor).second)
            return;
        const std::string path = cap_node_path(*node);
        edits_.nodes.push_back({path, inventory_.host_root + path, major_, node->minor, node->mode});
        edits_.proc->mounts.push_back({inventory_.capabilities_directory + "/" + access,
                                       std::string(capabilities_directory) + "/" + access, Kind::File});
    }

private:
    const Inventory &inventory_;
    Edits &edits_;
    unsigned major_;
    std::set<unsigned> seen_;
};

/**
 * Adds the nodes of the chosen instances (MIG), and their files `access` in /proc, of no others. Pure.
 * @param edits with Edits::proc
 * @throws Error (BrokenHost) if the driver has no such nodes
 */
void plan_instances(const GpuSelection &selection, const Inventory &inventory, Edits &edits)
{
    if (selection.instances.empty())
        return;
    CapNodes nodes(inventory, edits);
    for (const auto &[gpu, place] : selection.instances) {
        const MigInstance &instance = inventory.gpus[gpu].instances[place];
        const unsigned gpu_minor = inventory.gpus[gpu].information.minor.value();
        nodes.add(instance.gpu_node, gpu_instance_access(gpu_minor, instance.gpu_instance));
        nodes.add(instance.compute_node, compute_instance_access(gpu_minor, instance));
    }
}

// Minor numbers that the driver gives its own nodes.
constexpr unsigned modeset_minor = 254;
constexpr unsigned uvm_minor = 0;
constexpr unsigned uvm_tools_minor = 1;

constexpr const char *proc_directory = "/proc/driver/nvidia";
constexpr const char *dri_directory = "/dev/dri/";
constexpr const char *imex_path = "/dev/nvidia-caps-imex-channels/channel";

/** Everything that has to do with nodes. */
class Nodes final {
public:
    Nodes(const Inventory &inventory, Edits &edits) : inventory_(inventory), edits_(edits) {}

    void add(const std::string &path, unsigned major_number, unsigned minor_number)
    {
        edits_.nodes.push_back({path, inventory_.host_root + path, major_number, minor_number});
    }

    /** What says nothing of which GPU it is for: a container that has one by another way goes on needing it. */
    void add_of_driver(const std::string &path, unsigned major_number, unsigned minor_number)
    {
        add(path, major_number, minor_number);
        edits_.nodes.back().is_of_driver = true;
    }

    void add_gpus(const std::vector<size_t> &gpus)
    {
        const unsigned major_number = gpu_major(inventory_);
        for (const size_t gpu : gpus) {
            // What has no number has a problem, and is not chosen.
            const unsigned number = inventory_.gpus[gpu].information.minor.value();
            add("/dev/nvidia" + std::to_string(number), major_number, number);
        }
        add_of_driver(control_path, major_number, control_minor);
    }

    void add_uvm()
    {
        const unsigned major_number = module_major(inventory_, uvm_devices);
        add_of_driver("/dev/nvidia-uvm", major_number, uvm_minor);
        add_of_driver("/dev/nvidia-uvm-tools", major_number, uvm_tools_minor);
    }

    /** On servers without any display the module may well be absent: who asks for `all` need not know. */
    void add_modeset(bool required, Notes &notes)
    {
        if (required || inventory_.devices.major_of(modeset_devices))
            add_of_driver("/dev/nvidia-modeset", module_major(inventory_, modeset_devices), modeset_minor);
        else
            notes.push_back({LogLevel::Info, "the node of display is left out of 'all': the kernel module " +
                                                 std::string(modeset_devices) + " is not loaded"});
    }

    void add_imex(const std::vector<unsigned> &channels)
    {
        if (channels.empty())
            return;
        const unsigned major_number = module_major(inventory_, imex_devices);
        for (const unsigned channel : channels)
            add_of_driver(imex_path + std::to_string(channel), major_number, channel);
    }

    void add_drm(const PciAddress &address, const std::optional<DrmNode> &node)
    {
        if (!node)
            return;
        add(dri_directory + node->name, node->major, node->minor);
        edits_.links.push_back(
            {std::string(dri_directory) + "by-path/" + by_path_name(address, *node), "../" + node->name});
    }

private:
    const Inventory &inventory_;
    Edits &edits_;
};

void add_dri(const GpuSelection &selection, const Inventory &inventory, const DeviceNodes &host, Nodes &nodes,
             Notes &notes)
{
    const auto &named = selection.capabilities.named;
    const bool is_named = named.contains(Capability::Graphics) || named.contains(Capability::Display);
    const LogLevel level = is_named ? LogLevel::Warning : LogLevel::Info;
    // Few instances can draw, and which they are is not known here.
    if (!selection.instances.empty() &&
        (selection.capabilities.has(Capability::Graphics) || selection.capabilities.has(Capability::Display)))
        notes.push_back({level, "instances of a GPU (MIG) get no node of it in /dev/dri"});
    for (const auto &[gpu, drm] : host.drm) {
        const PciAddress &address = inventory.gpus[gpu].address;
        nodes.add_drm(address, drm.card);
        nodes.add_drm(address, drm.render);
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
    Nodes nodes(inventory, edits);
    nodes.add_gpus(selection.gpus);
    if (capabilities.has(Capability::Compute) || capabilities.has(Capability::Video))
        nodes.add_uvm();
    if (capabilities.has(Capability::Display))
        nodes.add_modeset(capabilities.named.contains(Capability::Display), notes);
    add_dri(selection, inventory, host, nodes, notes);
    nodes.add_imex(selection.imex_channels);
    for (const NamedNode &node : host.named)
        nodes.add_of_driver(node.path, node.major, node.minor);
}

/** Of the GPUs that the host has, a container sees its own. */
TmpfsEdit plan_proc(const std::vector<size_t> &gpus, const Inventory &inventory)
{
    TmpfsEdit proc{proc_directory};
    proc.files.push_back({"version", inventory.version_text});
    if (inventory.registry)
        proc.files.push_back({"registry", *inventory.registry});
    proc.files.push_back({"params", params_for_container(inventory.params)});
    for (const size_t gpu : gpus) {
        const std::string &name = inventory.gpus[gpu].directory;
        proc.mounts.push_back(
            {inventory.gpus_directory + "/" + name, std::string(proc_directory) + "/gpus/" + name});
    }
    return proc;
}

} // namespace

Edits NvidiaInputs::plan(Notes &notes) const
{
    check_requirements(requirements, inventory.version.value_or(""), notes);
    Edits edits = nvidia_devices::plan(selection, inventory, nodes, notes);
    plan_driver_tree(tree, image, edits, notes);
    return edits;
}

Edits plan(const GpuSelection &selection, const Inventory &inventory, const DeviceNodes &host, Notes &notes)
{
    Edits edits;
    if (!selection.gpus.empty())
        plan_nodes(selection, inventory, host, edits, notes);
    edits.proc = plan_proc(selection.gpus, inventory);
    plan_instances(selection, inventory, edits);
    return edits;
}

} // namespace ogh::nvidia_devices
