// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "hook/listing.h"
#include "nvidia-devices/host/inventory.h"
#include "request/candidate.h"
#include "request/selection.h"
#include "request/selectors.h"

namespace ogh::nvidia_devices {

/**
 * The GPUs as one may ask for them: by index, address and UUID, in the order of Inventory::gpus, and then the instances of
 * those that are divided, as add_instances() has them.
 *
 * An excluded GPU has no index: NVML counts those apart, and index 1 here must be what nvidia-smi calls 1.
 */
std::vector<Candidate> candidates(const Inventory &inventory);

/** The instances that a request can mean, ascending: by their names or that of their GPU, or any of all. */
std::vector<InstancePlace> meant_instances(const Selectors &selectors, const Inventory &inventory);

/** What --list says: the driver's version, and a row for each of `gpus`, which are the inventory's candidates(). Pure. */
HostListing list_gpus(const Inventory &inventory, const std::vector<Candidate> &gpus,
                      const SelectionPolicy &policy);

} // namespace ogh::nvidia_devices
