// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "lease/by_gpu.h"
#include "lease/lease_state.h"

namespace ogh {

/** A device that a container has; as long as the state lasts. */
struct DeviceUse {
    const Allocation *allocation;
    const LeasedDevice *device;
};

/** Who has what of each GPU. */
using DeviceUses = ByGpu<DeviceUse>;

DeviceUses uses_of(const LeaseState &state);

/** How many containers but `except`, which may be none, have some of the device. */
size_t count_holders(const DeviceUses &uses, const LeaseKey &key, const Allocation *except);

/**
 * Whether one more container that shares the device is one too many, by its own limit or that of one that has some of it.
 * @param own what that container has already, or none
 */
bool is_full(const DeviceUses &uses, const LeaseKey &key, const std::optional<unsigned> &limit,
             const Allocation *own);

/** Whether somebody who has some of the device limits how many share it. */
bool is_limited(const DeviceUses &uses, const LeaseKey &key);

} // namespace ogh
