// SPDX-License-Identifier: Apache-2.0
#include "registration/vendors.h"

#include <algorithm>
#include <array>

#include "base/path_names.h"

namespace ogh::admin {

namespace {

// The programs of nvidia-container-toolkit and libnvidia-container, and of amd's container-toolkit.
constexpr std::array tools{
    VendorTool{"nvidia-container-", "NVIDIA", "NVIDIA_VISIBLE_DEVICES"},
    VendorTool{"nvidia-ctk", "NVIDIA", "NVIDIA_VISIBLE_DEVICES"},
    VendorTool{"nvidia-cdi-hook", "NVIDIA", "NVIDIA_VISIBLE_DEVICES"},
    VendorTool{"amd-container-runtime", "AMD", "AMD_VISIBLE_DEVICES"},
    VendorTool{"amd-ctk", "AMD", "AMD_VISIBLE_DEVICES"},
};

} // namespace

const VendorTool *find_vendor_tool(const std::string &executable)
{
    const std::string name = file_name_of(executable);
    const auto *const found = std::find_if(
        tools.begin(), tools.end(), [&](const VendorTool &tool) { return name.starts_with(tool.prefix); });
    return found == tools.end() ? nullptr : found;
}

} // namespace ogh::admin
