// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cdi/spec.h"
#include "host/sysroot.h"
#include "libraries/folder_libraries.h"

namespace ogh::cdi_devices {

/**
 * The libraries that these mounts put into a folder of the container: files of the host that are mounted in it, and those
 * in a folder of the host that is mounted on it or above it.
 * @param folder absolute, without a slash at the end
 * @throws Error (BrokenHost)
 */
std::vector<FoundFile> read_folder_files(const std::string &folder, const std::vector<cdi::Mount> &mounts,
                                         const Sysroot &sysroot);

} // namespace ogh::cdi_devices
