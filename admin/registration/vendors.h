// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace ogh::admin {

/** A program that gives containers GPUs past the hooks of this collection. */
struct VendorTool {
    const char *prefix;   ///< that its file's name begins with
    const char *vendor;   ///< "NVIDIA"
    const char *variable; ///< by which an image asks it for GPUs
};

/** Which of the vendors' runtimes and hooks that executable is. @return nullptr if it is none */
const VendorTool *find_vendor_tool(const std::string &executable);

} // namespace ogh::admin
