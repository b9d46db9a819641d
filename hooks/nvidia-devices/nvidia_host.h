// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "hook/gpu_vendor.h"
#include "nvidia-devices/driver/driver_places.h"
#include "nvidia-devices/host/inventory.h"
#include "nvidia-devices/request/extras.h"

namespace ogh::nvidia_devices {

/** A host with NVIDIA's driver, and what a container wants of it. */
class NvidiaHost final : public GpuHost {
public:
    NvidiaHost(DriverPlaces places, Inventory inventory, std::vector<Candidate> gpus, Extras extras);
    [[nodiscard]] GpuUsers find_users(const Processes &processes, const Monitors &monitors) const override;
    [[nodiscard]] std::unique_ptr<const GpuInputs> gather(const std::vector<size_t> &chosen, Hook &hook,
                                                          Notes &notes) override;

private:
    DriverPlaces places_;
    Inventory inventory_; ///< moved into what gather() returns
    Extras extras_;
};

} // namespace ogh::nvidia_devices
