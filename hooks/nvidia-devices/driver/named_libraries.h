// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ogh::nvidia_devices {

// What tells a loader of a library of the driver: JSON of Vulkan's ICDs and layers, of EGL's vendors and platforms, in which
// each "library_path" is a name or a path (LoaderDriverInterface.md and LoaderLayerInterface.md of Vulkan-Loader,
// src/EGL/icd_enumeration.md of libglvnd), and the files *.icd of OpenCL's loader, which have one alone (cl_khr_icd).

/** Whether a file is of that kind, by its name. */
bool names_libraries(std::string_view path);

/** Each library that such a file names, as it stands there; none if it cannot be understood. Pure. */
std::vector<std::string> named_libraries(std::string_view text);

/** The same file with `changed` of each name in its place. Pure. */
std::string with_names(std::string_view text, const std::function<std::string(const std::string &)> &changed);

} // namespace ogh::nvidia_devices
