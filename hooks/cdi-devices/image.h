// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <vector>

#include "base/log.h"
#include "cdi-devices/plan/vendor_hooks.h"
#include "image/container_view.h"
#include "libraries/loader_file.h"

namespace ogh::cdi_devices {

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
