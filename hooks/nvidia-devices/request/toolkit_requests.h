// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "oci/config.h"

namespace ogh::nvidia_devices {

// What else than NVIDIA_VISIBLE_DEVICES and NVIDIA_DRIVER_CAPABILITIES tells NVIDIA's toolkit what a container wants, and
// cannot be given here: nobody is to find out by a program that fails.

/**
 * GPUs may be named by mounts too, `/var/run/nvidia-container-devices/GPU`, which win over the environment there.
 * @throws Error (Usage) if there are such
 */
void refuse_device_mounts(const Config &config);

} // namespace ogh::nvidia_devices
