// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/plan/mig_plan.h"

#include <optional>
#include <set>

#include "base/error.h"
#include "base/text.h"

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

} // namespace

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

} // namespace ogh::nvidia_devices
