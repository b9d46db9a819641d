// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "amd-kfd/inventory.h"
#include "base/log.h"
#include "edits/edits.h"
#include "hook/gpu_hook.h"

namespace ogh::amd_kfd {

/** What the plan for a container is made of. */
class AmdInputs final : public GpuInputs {
public:
    Inventory inventory;                  ///< for which why_none() is nothing
    std::vector<size_t> chosen;           ///< places in Inventory::gpus, ascending
    bool is_rootless = false;             ///< nobody can set a device cgroup
    std::vector<std::string> environment; ///< of the container, "NAME=VALUE"

    /**
     * The nodes and links that a container gets, with the host's own numbers: ROCm's libraries compute the names of render
     * nodes from what KFD says.
     * @param notes what to try for GPUs that the image's ROCm may not know: a hook cannot set variables
     * @throws Error (BrokenHost) for a rootless container that is to get some of several GPUs
     */
    [[nodiscard]] Edits plan(Notes &notes) const override;
};

} // namespace ogh::amd_kfd
