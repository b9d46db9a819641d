// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "hook/gpu_vendor.h"
#include "nvidia-devices/request/extras.h"
#include "request/visible_devices.h"

namespace ogh::nvidia_devices {

/** NVIDIA's GPUs, and the files of their driver. */
class NvidiaGpus final : public GpuVendor {
public:
    NvidiaGpus();
    void add_options(CommandLine &cli) override;
    void check_options(const CommonOptions &common, bool is_for_cdi) override;
    GpuList list(const Sysroot &sysroot, const SelectionPolicy &policy, Notes &notes) const override;
    std::unique_ptr<GpuHost> look(const Sysroot &sysroot, const GpuRequest &request,
                                  Notes &notes) const override;

private:
    std::string driver_root_ = "/";
    CountMeans count_means_ = CountMeans::First;
    std::optional<std::string> allow_capabilities_;
    std::optional<std::string> allow_imex_;
    ExtrasOptions extras_;
};

} // namespace ogh::nvidia_devices
