// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/host/candidates.h"

#include "nvidia-devices/host/mig_devices.h"

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
        candidate.lease_key = "nvidia:" + to_text(gpu.address);
        candidate.description = to_text(gpu.address);
        if (!gpu.information.uuid.empty()) {
            candidate.names.push_back(gpu.information.uuid);
            candidate.description = gpu.information.uuid;
        }
        candidate.problem = gpu.problem;
        candidate.problem_code = gpu.problem_code;
        candidate.closed = obstacle_text(gpu.access, inventory.host_root + node_path(gpu));
        list.push_back(std::move(candidate));
    }
    add_instances(inventory, list);
    return list;
}

} // namespace ogh::nvidia_devices
