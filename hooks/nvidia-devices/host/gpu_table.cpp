// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/host/gpu_table.h"

#include "nvidia-devices/host/candidates.h"
#include "nvidia-devices/host/mig_devices.h"
#include "request/availability.h"

namespace ogh::nvidia_devices {

HostListing list_gpus(const Inventory &inventory, const SelectionPolicy &policy)
{
    const auto gpus = candidates(inventory);
    const Availability availability(gpus, policy);
    HostListing list{"gpus",
                     {{"driver", known(inventory.version ? inventory.version->version : "")}},
                     {"index", "address", "uuid", "model", "node", "state"},
                     {}};
    for (size_t i = 0; i < inventory.gpus.size(); ++i) {
        const GpuInformation &information = inventory.gpus[i].information;
        const auto &index = gpus[i].index;
        const auto &number = information.minor;
        list.rows.push_back({index ? HostListing::Cell(std::uint64_t{*index}) : nullptr,
                             to_text(gpus[i].address), known(information.uuid), known(information.model),
                             known(number ? "/dev/nvidia" + std::to_string(*number) : ""),
                             availability.state(i)});
    }
    size_t i = inventory.gpus.size();
    for (const auto &[gpu, place] : instance_places(inventory)) {
        const MigInstance &instance = inventory.gpus[gpu].instances[place];
        list.rows.push_back({nullptr, to_text(gpus[i].address), gpus[i].description,
                             known(inventory.gpus[gpu].information.model),
                             known(instance.compute_node ? cap_node_path(*instance.compute_node) : ""),
                             availability.state(i)});
        ++i;
    }
    return list;
}

} // namespace ogh::nvidia_devices
