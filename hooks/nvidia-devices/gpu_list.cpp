// SPDX-License-Identifier: Apache-2.0
#include "gpu_list.h"

#include "offer.h"
#include "table.h"

namespace ogh::nvidia_devices {

std::string list_gpus(const Inventory &inventory, const SelectionPolicy &policy)
{
    const auto gpus = candidates(inventory);
    const Offer offer(gpus, policy);
    Table rows{{"INDEX", "ADDRESS", "UUID", "MODEL", "NODE", "STATE"}};
    for (size_t i = 0; i < gpus.size(); ++i) {
        const GpuInformation &information = inventory.gpus[i].information;
        const auto &number = information.minor;
        rows.push_back({or_unknown(gpus[i].index ? std::to_string(*gpus[i].index) : ""),
                        to_text(gpus[i].address), or_unknown(information.uuid), or_unknown(information.model),
                        or_unknown(number ? "/dev/nvidia" + std::to_string(*number) : ""), offer.state(i)});
    }
    return to_text(rows);
}

} // namespace ogh::nvidia_devices
