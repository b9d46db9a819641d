// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "nvidia-devices/request/requirement.h"
#include "oci/config.h"

namespace ogh::nvidia_devices {

/**
 * What a container's environment requires of driver and GPUs, as NVIDIA's toolkit understands it: each variable that
 * begins with NVIDIA_REQUIRE_ (but for NVIDIA_REQUIRE_JETPACK, which names files) is a requirement, and a CUDA image from
 * before NVIDIA_REQUIRE_CUDA requires the CUDA of its CUDA_VERSION. NVIDIA_DISABLE_REQUIRE takes all of them back.
 * @throws Error (Usage) for a value that cannot be understood, or is too long
 */
std::vector<Requirement> requirements_of(const Config &config);

} // namespace ogh::nvidia_devices
