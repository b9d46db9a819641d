// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/log.h"
#include "nvidia-devices/driver/driver_places.h"
#include "nvidia-devices/host/inventory.h"
#include "request/candidate.h"
#include "request/selectors.h"

namespace ogh::nvidia_devices {

/**
 * Asks NVIDIA's library for names of instances (MIG), where a request or the policy has one and a GPU is divided.
 * @throws Error: NotAvailable if it cannot be asked, BrokenHost if it answers what cannot be; with the names that need no
 *         library
 */
void name_instances_for(const Selectors &selectors, const SelectionPolicy &policy, const DriverPlaces &places,
                        Inventory &inventory, Notes &notes);

} // namespace ogh::nvidia_devices
