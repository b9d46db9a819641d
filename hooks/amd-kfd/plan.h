// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "amd-kfd/inventory.h"
#include "base/log.h"
#include "edits/edits.h"
#include "hook/gpu_vendor.h"

namespace ogh::amd_kfd {

/**
 * The nodes and links that a container gets, with the host's own numbers: ROCm's libraries compute the names of render
 * nodes from what KFD says. Pure.
 * @param inventory for which why_none() is nothing
 * @param host of the chosen GPUs
 */
Edits plan(const Inventory &inventory, const DeviceNodes &host);

/**
 * Without a device cgroup KFD gives a process all GPUs of the host, and ROCm fails on the first that it has no render
 * node of.
 * @param rootless nobody can set a device cgroup
 * @throws Error (BrokenHost) for a rootless container that is to get some of several GPUs; those that a device cgroup hides
 *         from this process do not count
 */
void check_rootless(const std::vector<size_t> &gpus, const Inventory &inventory, bool rootless);

/**
 * What to try for GPUs that the image's ROCm may not know; a hook cannot set variables.
 * @param environment of the container, "NAME=VALUE"; where it has HSA_OVERRIDE_GFX_VERSION, or that for one GPU,
 *        somebody has thought of it
 */
Notes override_notes(const std::vector<size_t> &gpus, const Inventory &inventory,
                     const std::vector<std::string> &environment);

/** What the plan for a container is made of. */
class AmdInputs final : public GpuInputs {
public:
    Inventory inventory;                  ///< for which why_none() is nothing
    std::vector<size_t> chosen;           ///< places in Inventory::gpus, ascending
    DeviceNodes nodes;                    ///< as read_device_nodes() reads them for `chosen`
    bool is_rootless = false;             ///< nobody can set a device cgroup
    std::vector<std::string> environment; ///< of the container, "NAME=VALUE"

    [[nodiscard]] Edits plan(Notes &notes) const override;
};

} // namespace ogh::amd_kfd
