// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <vector>

#include "base/log.h"
#include "cdi-devices/plan/vendor_hooks.h"
#include "image/container_view.h"
#include "libraries/loader_file.h"

namespace ogh::cdi_devices {

/** Where the driver's libraries look for which GPUs EGL may show. */
constexpr const char *egl_profile_path = "/etc/nvidia/nvidia-application-profiles-rc.d/10-container.conf";

/** Whether a node of /dev is a GPU's, by its name: "nvidia0", and not "nvidiactl". */
bool is_gpu_node(std::string_view name);

/** What the plan must know of the container's image; hostile. */
struct Image {
    LoaderImage loader;
    std::vector<AddedLibrary>
        compat; ///< of its libraries for CUDA's forward compatibility, if they are to be used
    std::vector<std::string> compat_directories = {}; ///< where these are
    LoaderFile egl_profile;
    std::set<unsigned> gpus =
        {}; ///< minor numbers of the nodes of NVIDIA's GPUs that its /dev has, if EGL is limited
};

/** Whether any of it matters. */
bool needs_image(const VendorActions &actions);

/** @param notes files that are left out @throws Error */
Image read_image(ContainerView &view, const VendorActions &actions, Notes &notes);

} // namespace ogh::cdi_devices
