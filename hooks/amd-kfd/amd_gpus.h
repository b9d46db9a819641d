// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "amd-kfd/inventory.h"
#include "hook/gpu_vendor.h"

namespace ogh::amd_kfd {

/** AMD's GPUs, as KFD and the DRM subsystem have them. */
class AmdGpus final : public GpuVendor {
public:
    AmdGpus();
    HostListing list(const Sysroot &sysroot, const SelectionPolicy &policy, Notes &notes) override;
    [[nodiscard]] std::vector<Candidate> gpus() const override;
    std::optional<Selectors> asked_of_tools(const Config &config) override;
    std::optional<std::vector<Candidate>> find(const Sysroot &sysroot, const GpuRequest &request,
                                               Notes &notes) override;
    Edits plan(const std::vector<size_t> &chosen, const Sysroot &sysroot, Hook &hook, Notes &notes) override;

private:
    Inventory inventory_;
};

} // namespace ogh::amd_kfd
