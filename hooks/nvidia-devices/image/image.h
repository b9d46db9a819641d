// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "image/image_reader.h"
#include "loader/glibc_versions.h"
#include "nvidia-devices/image/own_tools.h"
#include "nvidia/cuda_compat.h"
#include "oci/config.h"

namespace ogh::nvidia_devices {

/** What the plan must know of a container's image; hostile. The defaults stand for an image that was not looked at. */
struct Image {
    bool has_only_musl = false;                   ///< musl's loader, and not glibc's
    std::string library_directory = "/usr/lib64"; ///< of the image's own libraries; plugins lie below it
    std::string path;                             ///< PATH of the container's environment
    std::optional<GlibcVersions> glibc;           ///< what its glibc has, if that is known
    std::optional<CudaCompat> compat;
    std::vector<OwnTool> own_tools; ///< if they were looked for

    bool operator==(const Image &) const = default;
};

/**
 * Looks at an image.
 * @param reader as of ReadAs::Process
 * @throws Error
 */
Image read_image(const ImageReader &reader, const Config &config, Notes &notes);

} // namespace ogh::nvidia_devices
