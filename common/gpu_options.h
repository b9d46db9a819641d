// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "command_line.h"
#include "selection.h"

namespace ogh {

/** What every hook for GPUs takes besides the common options; the host's side. */
struct GpuOptions {
    std::optional<std::string> allow;
    std::optional<unsigned> max_devices;
    bool list = false; ///< --list: print what there is, and do nothing else
};

/** Adds the options to a hook's command line; they are set in `options` when it is parsed. */
void add_gpu_options(CommandLine &cli, GpuOptions &options);

/** @throws Error (Usage) */
SelectionPolicy policy_of(const GpuOptions &options);

} // namespace ogh
