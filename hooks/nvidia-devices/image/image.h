// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
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
    bool has_only_musl = false; ///< musl's loader, and not glibc's
    bool is_foreign = false;    ///< glibc's loader for another machine, and not for this one
    bool has_loader_32 = false; ///< then: the loader of the 32-bit programs that this one runs
    std::string library_directory = "/usr/lib64"; ///< of the image's own libraries; plugins lie below it
    std::string path;                             ///< PATH of the container's environment
    std::optional<GlibcVersions> glibc;           ///< what its glibc has, if that is known
    std::optional<CudaCompat> compat;
    std::vector<OwnTool> own_tools;             ///< if they were looked for
    std::set<std::string> lacking_interpreters; ///< of the host's programs, where it has a loader of its own

    bool operator==(const Image &) const = default;
};

/**
 * Looks at an image.
 * @param reader as of ReadAs::Process
 * @param interpreters of the host's programs that it is to get
 * @throws Error
 */
Image read_image(const ImageReader &reader, const Config &config, const std::set<std::string> &interpreters,
                 Notes &notes);

} // namespace ogh::nvidia_devices
