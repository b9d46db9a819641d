// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "nvidia-devices/host/inventory.h"

namespace ogh::nvidia_devices {

/**
 * How many IMEX channels the driver has: ImexChannelCount of its params, from channel 0 on; where it does not say, as many
 * as there may be. 0 if it has no such devices.
 */
unsigned imex_channel_count(const Inventory &inventory);

/** @throws Error (NotAvailable) for the first channel that the driver does not have */
void require_imex_channels(const Inventory &inventory, const std::vector<unsigned> &channels);

} // namespace ogh::nvidia_devices
