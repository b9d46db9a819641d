// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "image/image_reader.h"
#include "nvidia-devices/request/capabilities.h"
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

} // namespace ogh::nvidia_devices
