// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "hook/gpu_vendor.h"

namespace ogh::amd_kfd {

/** AMD's GPUs, as KFD and the DRM subsystem have them. */
class AmdGpus final : public GpuVendor {
public:
    AmdGpus();
    void add_options(CommandLine &cli) override;
    void check_options(const CommonOptions &common, bool is_for_cdi) override;
    GpuList list(const Sysroot &sysroot, const SelectionPolicy &policy, Notes &notes) const override;
    std::unique_ptr<GpuHost> look(const Sysroot &sysroot, const GpuRequest &request,
                                  Notes &notes) const override;

private:
    std::string empty_below_ = "512MiB";
};

} // namespace ogh::amd_kfd
