// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "nvidia-devices/host/inventory.h"
#include "nvidia-devices/request/gpu_selection.h"
#include "request/candidate.h"
#include "request/selectors.h"

namespace ogh::nvidia_devices {

/** What instances are called where UUIDs of theirs are not known: "MIG-GPU-…/1/0", or "0000:5e:00.0/1/0". */
std::string instance_name(const Gpu &gpu, const MigInstance &instance);

/**
 * Adds the instances to the candidates of the GPUs, in the order of instance_places(): by the names of instance_name(). A
 * GPU that is divided may be had as a whole by its own names alone: `all` and `any` take its instances.
 * @param list the GPUs, in the order of Inventory::gpus
 */
void add_instances(const Inventory &inventory, std::vector<Candidate> &list);

/**
 * What places in candidates() mean. A GPU that is divided is all of its instances that can be handed out, and an instance
 * needs the GPU that it is of.
 * @param chosen ascending
 */
GpuSelection selection_of(const std::vector<size_t> &chosen, const Inventory &inventory);

/**
 * NVIDIA's library alone counts instances and has UUIDs of theirs: `0:1`, `MIG-UUID` and names of profiles cannot be
 * looked up, where there is no such library.
 * @throws Error (NotAvailable) for the first such name, which says what can be asked for instead
 */
void refuse_library_names(const Selectors &selectors, const std::vector<Candidate> &list);

} // namespace ogh::nvidia_devices
