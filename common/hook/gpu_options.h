// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/command_line.h"
#include "hook/gpu_lease.h"
#include "hook/gpu_vendor.h"
#include "hook/options.h"
#include "listing/listing.h"

namespace ogh {

/** What every hook for GPUs takes besides the common options; the host's side. */
struct GpuOptions {
    std::optional<std::string> allow;
    std::optional<unsigned> max_devices;
    bool only_empty = false;
    std::optional<std::string> from;    ///< what a device plugin's word is taken from
    std::vector<std::string> observers; ///< KEY=PATTERN each
    LeaseOptions leases;
    std::optional<ListFormat> list;
    std::optional<std::string> cdi; ///< of which kind; "" is the hook's own
};

/** @param cdi_kind what the vendor's own tools call its devices: "nvidia.com/gpu" */
void add_gpu_options(CommandLine &cli, const std::string &cdi_kind, GpuOptions &options);

/** @throws Error (Usage) if options are given that only make sense with others, or not beside them */
void check(const GpuOptions &options, const CommonOptions &common);

/**
 * NVIDIA's programs that have GPUs open only to watch them, where its packages put them. nvidia-persistenced gives its
 * directory to the user that it goes on as; what is in /run is root's to give.
 */
std::vector<Monitor> monitors_of(const Sysroot &sysroot);

/** What --from says of the vendor's device plugin. @throws Error (Usage) */
DevicePlugin plugin_of(const GpuOptions &options, const GpuTraits &traits);

} // namespace ogh
