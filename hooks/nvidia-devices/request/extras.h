// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hook/gpu_hook.h"
#include "nvidia-devices/host/imex.h"
#include "nvidia-devices/request/capabilities.h"
#include "nvidia-devices/request/image_requirements.h"

namespace ogh::nvidia_devices {

/** What the host's options say of what goes along with GPUs. */
struct ExtrasOptions {
    std::optional<std::string> capabilities = {}; ///< what --request asks for beside GPUs
    std::optional<Capabilities> allow_capabilities =
        {}; ///< the only ones that may be asked for; nothing: all
    ImexPolicy allow_imex = {};
};

/** What a container wants beside GPUs. */
struct Extras {
    Capabilities capabilities;
    std::vector<RequestValue> requirements = {}; ///< of its image
    std::vector<unsigned> imex_channels = {};    ///< ascending
    /** It gets files of the driver. `none` is what a host gives every container as a default: it is to cost nothing. */
    bool has_files = true;
};

/**
 * Understands what a request says besides GPUs. Capabilities are those that the container names, or, where the host asks,
 * --capabilities; the container's own win where the host asks for every container. Pure.
 * @throws Error: Usage; Denied for what the host does not hand out
 */
Extras extras_of(const GpuRequest &request, const ExtrasOptions &options);

} // namespace ogh::nvidia_devices
