// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "listing/listing.h"
#include "nvidia-devices/host/inventory.h"
#include "request/availability.h"
#include "request/selection.h"
#include "request/selectors.h"

namespace ogh::nvidia_devices {

/**
 * What places in candidates() mean. A GPU that is divided is all of its instances that can be handed out, and an instance
 * needs the GPU that it is of.
 * @param chosen ascending
 */
GpuSelection selection_of(const std::vector<size_t> &chosen, const Inventory &inventory);

/**
 * NVIDIA's library alone counts instances, and has UUIDs and profiles of theirs: `0:1`, `MIG-UUID`, `mig-1g.10gb`.
 * @return the first such name that is asked for, or that the policy has; nothing if there is none
 */
std::optional<std::string> find_library_name(const Selectors &selectors, const SelectionPolicy &policy);

/** "ask for them as 'MIG-GPU-…/1/0', …": what to do where the library cannot be asked. */
std::string without_library(const Inventory &inventory);

/**
 * The GPUs as one may ask for them: by index, address and UUID, in the order of Inventory::gpus, and then the instances, in
 * the order of instance_places(): by what they are called without asking NVIDIA's library ("MIG-GPU-…/1/0", or
 * "0000:5e:00.0/1/0"), and the names that name_instances() has added. A GPU that is divided may be had as a whole by its own
 * names alone: `all` and `any` take its instances.
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
