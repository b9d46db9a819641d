// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/host/candidates.h"

#include <algorithm>
#include <variant>

#include "nvidia-devices/host/mig_devices.h"
#include "request/availability.h"

namespace ogh::nvidia_devices {

std::vector<Candidate> candidates(const Inventory &inventory)
{
    std::vector<Candidate> list;
    unsigned next = 0;
    for (const Gpu &gpu : inventory.gpus) {
        Candidate candidate;
        if (!gpu.information.is_excluded)
            candidate.index = next++;
        candidate.address = gpu.address;
        candidate.lease_key = lease_key(gpu);
        candidate.description = to_text(gpu.address);
        if (!gpu.information.uuid.empty()) {
            candidate.names.push_back(gpu.information.uuid);
            candidate.description = gpu.information.uuid;
        }
        candidate.problem = gpu.problem;
        candidate.problem_kind = gpu.problem_kind;
        candidate.closed = obstacle_text(gpu.access, inventory.host_root + node_path(gpu));
        list.push_back(std::move(candidate));
    }
    add_instances(inventory, list);
    return list;
}

std::vector<InstancePlace> meant_instances(const Selectors &selectors, const Inventory &inventory)
{
    auto places = instance_places(inventory);
    if (places.empty() || selectors.all || selectors.any != 0 || selectors.allowed)
        return places;
    const auto list = candidates(inventory);
    const auto is_meant = [&](const Candidate &candidate) {
        return std::any_of(selectors.named.begin(), selectors.named.end(), [&](const Selector &selector) {
            return std::visit(SelectorMatcher{candidate, true}, selector.what);
        });
    };
    std::vector<InstancePlace> meant;
    for (size_t i = 0; i < places.size(); ++i) {
        if (is_meant(list[places[i].gpu]) || is_meant(list[inventory.gpus.size() + i]))
            meant.push_back(places[i]);
    }
    return meant;
}

HostListing list_gpus(const Inventory &inventory, const std::vector<Candidate> &gpus,
                      const SelectionPolicy &policy)
{
    const Availability availability(gpus, policy);
    HostListing list{"gpus",
                     {{"driver", known(inventory.version.value_or(""))}},
                     {"index", "address", "uuid", "model", "node", "state"},
                     {}};
    list.none = "the driver knows no GPU of this host";
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
