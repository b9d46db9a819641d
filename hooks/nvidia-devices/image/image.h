// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "image/image_reader.h"
#include "loader/glibc_versions.h"
#include "nvidia-devices/request/capabilities.h"
#include "nvidia/cuda_compat.h"
#include "oci/config.h"

namespace ogh::nvidia_devices {

/** What an image has of a driver, and its programs find before the host's: it fits another kernel module. */
struct OwnTool {
    std::string path;
    std::string version; ///< of the driver that it is part of; "" if that is not known

    bool operator==(const OwnTool &) const = default;
};

/**
 * nvidia-smi by the container's PATH, and libnvidia-ml and libcuda by its LD_LIBRARY_PATH, as far as the capabilities bring
 * the host's: what is found through the cache of the loader is the host's, as ldcache-update writes it.
 * @param reader as of ReadAs::Process
 * @param tree the directory of the host's
 */
std::vector<OwnTool> find_own_tools(const ImageReader &reader, const Config &config,
                                    const Capabilities &capabilities, const std::string &tree);

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
