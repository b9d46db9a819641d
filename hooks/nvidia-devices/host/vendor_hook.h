// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "host/sysroot.h"
#include "oci/config.h"

namespace ogh::nvidia_devices {

/**
 * Looks for NVIDIA's own hook, which hands out GPUs whatever is decided here: in the container's config.json, and in the
 * files below the sysroot that engines read hooks from. What cannot be read there is passed over.
 * @return where it is, for a message
 */
std::optional<std::string> find_vendor_hook(const Config &config, const Sysroot &sysroot);

} // namespace ogh::nvidia_devices
