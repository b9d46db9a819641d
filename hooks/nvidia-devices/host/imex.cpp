// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/host/imex.h"

#include "base/text.h"
#include "nvidia-devices/request/imex_channels.h"
#include "nvidia/driver_params.h"

namespace ogh::nvidia_devices {

namespace {

constexpr const char *count_key = "ImexChannelCount";

} // namespace

unsigned imex_channel_count(const Inventory &inventory)
{
    if (!inventory.devices.major_of(imex_devices))
        return 0;
    const auto count = driver_param(inventory.params, count_key);
    return count && *count < imex_channel_limit ? static_cast<unsigned>(*count) : imex_channel_limit;
}

void require_imex_channels(const Inventory &inventory, const std::vector<unsigned> &channels)
{
    if (channels.empty())
        return;
    const unsigned count = imex_channel_count(inventory);
    if (count == 0)
        throw Error(ErrorKind::NotAvailable, "this host has no IMEX channels: its nvidia driver has no " +
                                                 std::string(imex_devices) +
                                                 " in /proc/devices, or NVreg_ImexChannelCount is 0");
    if (channels.back() >= count)
        throw Error(ErrorKind::NotAvailable, "no IMEX channel '" + std::to_string(channels.back()) +
                                                 "': this host's driver has 0 to " +
                                                 std::to_string(count - 1) + " (NVreg_ImexChannelCount)");
}

} // namespace ogh::nvidia_devices
