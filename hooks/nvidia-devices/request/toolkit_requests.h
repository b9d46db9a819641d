// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/log.h"
#include "oci/config.h"

namespace ogh::nvidia_devices {

// What else than NVIDIA_VISIBLE_DEVICES and NVIDIA_DRIVER_CAPABILITIES tells NVIDIA's toolkit what a container wants, and
// is not supported here: nobody is to find out by a program that fails.

/**
 * GPUs may be named by mounts too, `/var/run/nvidia-container-devices/GPU`, which win over the environment there.
 * @throws Error (Usage) if there are such
 */
void refuse_device_mounts(const Config &config);

/**
 * For a container that asks for GPUs.
 * @param notes a warning where NVIDIA_REQUIRE_* is not checked, on which the toolkit does not start some containers
 * @throws Error (Usage) if it asks for IMEX channels; a lone `all` means none there
 */
void check_further_variables(const Config &config, Notes &notes);

} // namespace ogh::nvidia_devices
