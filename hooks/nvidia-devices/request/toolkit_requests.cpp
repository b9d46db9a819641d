// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/request/toolkit_requests.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace ogh::nvidia_devices {

namespace {

/** Below which the toolkit takes each target of a mount for the name of a GPU, or of an IMEX channel. */
constexpr std::array<std::string_view, 2> device_folders{"/var/run/nvidia-container-devices/",
                                                         "/run/nvidia-container-devices/"};

} // namespace

void refuse_device_mounts(const Config &config)
{
    for (const std::string &target : config.bind_targets) {
        const auto is_above = [&](std::string_view folder) { return target.starts_with(folder); };
        if (std::any_of(device_folders.begin(), device_folders.end(), is_above))
            throw Error(
                ExitCode::Usage,
                "the container asks for GPUs by the mount " + quote(target) +
                    ", which this hook does not understand; let it ask by its environment (Kubernetes' "
                    "device plugin: --device-list-strategy=envvar) or by annotation");
    }
}

} // namespace ogh::nvidia_devices
