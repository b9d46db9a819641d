// SPDX-License-Identifier: Apache-2.0
#include "lease/device_use.h"

#include <algorithm>
#include <set>

namespace ogh {

DeviceUses uses_of(const LeaseState &state)
{
    DeviceUses uses;
    for (const Allocation &allocation : state.allocations) {
        for (const LeasedDevice &device : allocation.devices)
            uses.add(gpu_of(device.key), {&allocation, &device});
    }
    return uses;
}

size_t count_holders(const DeviceUses &uses, const LeaseKey &key, const Allocation *except)
{
    std::set<const Allocation *> holders;
    for (const DeviceUse &use : uses.near(gpu_of(key))) {
        if (use.allocation != except && overlap(use.device->key, key))
            holders.insert(use.allocation);
    }
    return holders.size();
}

bool is_full(const DeviceUses &uses, const LeaseKey &key, const std::optional<unsigned> &limit,
             const Allocation *own)
{
    const auto is_too_much = [&](const LeaseKey &device, const std::optional<unsigned> &most) {
        return most && count_holders(uses, device, own) >= *most;
    };
    const auto &near = uses.near(gpu_of(key));
    return is_too_much(key, limit) || std::any_of(near.begin(), near.end(), [&](const DeviceUse &use) {
               return use.allocation != own && overlap(use.device->key, key) &&
                      is_too_much(use.device->key, use.device->max_sharers);
           });
}

bool is_limited(const DeviceUses &uses, const LeaseKey &key)
{
    const auto &near = uses.near(gpu_of(key));
    return std::any_of(near.begin(), near.end(), [&](const DeviceUse &use) {
        return use.device->max_sharers && overlap(use.device->key, key);
    });
}

} // namespace ogh
