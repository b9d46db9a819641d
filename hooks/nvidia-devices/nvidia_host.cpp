// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/nvidia_host.h"

#include <set>

#include "base/error.h"
#include "image/container_view.h"
#include "nvidia-devices/host/gpu_users.h"
#include "nvidia-devices/host/mig_devices.h"
#include "nvidia-devices/plan/inputs.h"
#include "nvidia-devices/plan/requested_tree.h"

namespace ogh::nvidia_devices {

namespace {

/** A further request of a container may move an earlier one to what this one does not mean. */
void read_chosen(const Sysroot &sysroot, Inventory &inventory, const std::vector<InstancePlace> &chosen)
{
    read_instances(sysroot, inventory, chosen);
    for (const auto &[gpu, place] : chosen) {
        const std::string &problem = inventory.gpus[gpu].instances[place].problem;
        if (!problem.empty())
            throw Error(ErrorKind::BrokenHost, "the instance cannot be given: " + problem);
    }
}

/** The driver's files for what is chosen, and the image that they are for. */
void read_files(const DriverPlaces &places, Hook &hook, NvidiaInputs &inputs, Notes &notes)
{
    std::optional<std::string> earlier;
    if (hook.config())
        earlier = read_previous_request(hook.look(), std::string(tree_directory) + "/" + record_name);
    inputs.tree = read_requested_tree(places, inputs.selection, inputs.inventory, earlier, notes);
    if (!hook.config())
        return;
    std::set<std::string> interpreters;
    for (const DriverFile &file : inputs.tree.files.files)
        if (!file.interpreter.empty())
            interpreters.insert(file.interpreter);
    const ImageReader &reader = hook.look().reader(ReadAs::Process);
    inputs.image = read_image(reader, *hook.config(), interpreters, notes);
    if (!earlier)
        inputs.image.own_tools =
            find_own_tools(reader, *hook.config(), inputs.selection.capabilities, tree_directory);
}

} // namespace

NvidiaHost::NvidiaHost(DriverPlaces places, Inventory inventory, std::vector<Candidate> gpus, Extras extras)
    : GpuHost(std::move(gpus)), places_(std::move(places)), inventory_(std::move(inventory)),
      extras_(std::move(extras))
{
}

GpuUsers NvidiaHost::find_users(const Processes &processes, const Monitors &monitors) const
{
    return nvidia_devices::find_users(places_.sysroot, inventory_, processes, monitors);
}

std::unique_ptr<const GpuInputs> NvidiaHost::gather(const std::vector<size_t> &chosen, Hook &hook,
                                                    Notes &notes)
{
    auto inputs = std::make_unique<NvidiaInputs>();
    inputs->selection = selection_of(chosen, inventory_);
    read_chosen(places_.sysroot, inventory_, inputs->selection.instances);
    inputs->selection.capabilities = extras_.capabilities;
    inputs->selection.imex_channels = extras_.imex_channels;
    inputs->requirements = extras_.requirements;
    inputs->nodes = read_device_nodes(places_.sysroot, inventory_, inputs->selection);
    inputs->inventory = std::move(inventory_);
    if (extras_.has_files)
        read_files(places_, hook, *inputs, notes);
    return inputs;
}

} // namespace ogh::nvidia_devices
