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
    HostListing list(const Sysroot &sysroot, const SelectionPolicy &policy, Notes &notes) override;
    [[nodiscard]] std::vector<Candidate> gpus() const override;
    [[nodiscard]] GpuTags tags() const override { return {"amd", "rocm"}; }
    [[nodiscard]] VendorCdi vendor_cdi() const override { return {"amd.com/gpu", {}, {{"igpu0", "igpu"}}}; }
    /** AMD's plugin names nothing: it has the engine make the nodes that ROCm needs. */
    [[nodiscard]] PluginNames plugin_names() const override
    {
        return {.variable = "AMD_VISIBLE_DEVICES",
                .control_node = "/dev/kfd",
                .node_folder = "/dev/dri/",
                .node_prefix = "renderD"};
    }
    [[nodiscard]] bool is_served_by_vendor(const Config & /*config*/) const override { return false; }
    std::optional<Selectors> asked_of_tools(const Config &config) override;
    [[nodiscard]] bool has_use_for_none() const override { return false; }
    std::optional<std::vector<Candidate>> find(const Sysroot &sysroot, const GpuRequest &request,
                                               Notes &notes) override;
    Edits plan(const std::vector<size_t> &chosen, const Sysroot &sysroot, Hook &hook, Notes &notes) override;

private:
    Inventory inventory_;
};

} // namespace ogh::amd_kfd
