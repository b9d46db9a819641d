// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "cdi/spec.h"
#include "edits/edits.h"

namespace ogh::cdi_devices {

/** `chmod`: what permissions a path of the container is to have. */
struct ModeChange {
    std::string path;
    mode_t mode = 0;

    bool operator==(const ModeChange &) const = default;
};

/** `enable-cuda-compat`: for which host libraries of the image are to be found first, and where it has them. */
struct CompatRequest {
    std::string driver; ///< the version of the host's driver; "" if it is not given
    std::string
        cuda; ///< that of CUDA which the driver is for; "" if it is not given, and the other one is then
    std::string directory; ///< in the container

    bool operator==(const CompatRequest &) const = default;
};

/** What the hooks of specifications are for. */
struct VendorActions {
    std::vector<LinkEdit> links = {};                  ///< create-symlinks
    std::vector<std::string> library_directories = {}; ///< update-ldcache: the container's, none twice
    std::vector<CompatRequest> compat = {};            ///< enable-cuda-compat: none twice
    bool masks_params = false;                         ///< disable-device-node-modification
    bool limits_egl = false;                           ///< update-application-profile
    std::vector<ModeChange> modes = {};                ///< chmod

    bool operator==(const VendorActions &) const = default;
};

/**
 * What vendors' hooks would do, so that this hook does it: no program of a specification is run. Those of NVIDIA are
 * known (nvidia-cdi-hook, nvidia-ctk hook; their options are those of its releases up to 1.20, where each command of cmd/nvidia-cdi-hook
 * has its own). Pure.
 * @throws Error (Denied) that names any other hook, and any option that is not known
 */
VendorActions vendor_actions(const std::vector<cdi::SpecHook> &hooks);

} // namespace ogh::cdi_devices
