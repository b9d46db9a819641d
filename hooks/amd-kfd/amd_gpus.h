// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "hook/gpu_vendor.h"

namespace ogh::amd_kfd {

/** AMD's GPUs, as KFD and the DRM subsystem have them. */
class AmdGpus final : public GpuVendor {
public:
    AmdGpus();
    GpuList list(const Sysroot &sysroot, const SelectionPolicy &policy, Notes &notes) const override;
    std::unique_ptr<GpuHost> look(const Sysroot &sysroot, const GpuRequest &request,
                                  Notes &notes) const override;
};

} // namespace ogh::amd_kfd
