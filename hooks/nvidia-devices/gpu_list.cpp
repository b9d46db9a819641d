// SPDX-License-Identifier: Apache-2.0
#include "gpu_list.h"

#include "offer.h"
#include "table.h"

namespace ogh::nvidia_devices {

namespace {

constexpr const char *unknown = "-";

std::string text_or_unknown(const std::string &text)
{
    return text.empty() ? unknown : text;
}

/** Why the GPU is not to be had; "" if it is. */
std::string state_of(const Offer &offer, size_t gpu)
{
    if (!offer.is_allowed(gpu) || offer.room(0) == 0)
        return "not allowed";
    return offer.at(gpu).problem;
}

} // namespace

std::string list_gpus(const Inventory &inventory, const SelectionPolicy &policy)
{
    const auto gpus = candidates(inventory);
    const Offer offer(gpus, policy);
    Table rows{{"INDEX", "ADDRESS", "UUID", "MODEL", "NODE", "STATE"}};
    for (size_t i = 0; i < gpus.size(); ++i) {
        const GpuInformation &information = inventory.gpus[i].information;
        const auto &number = information.minor;
        rows.push_back({gpus[i].index ? std::to_string(*gpus[i].index) : unknown, to_text(gpus[i].address),
                        text_or_unknown(information.uuid), text_or_unknown(information.model),
                        number ? "/dev/nvidia" + std::to_string(*number) : unknown, state_of(offer, i)});
    }
    return to_text(rows);
}

} // namespace ogh::nvidia_devices
