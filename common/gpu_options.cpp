// SPDX-License-Identifier: Apache-2.0
#include "gpu_options.h"

namespace ogh {

void add_gpu_options(CommandLine &cli, GpuOptions &options)
{
    cli.add({"--allow", "GPU,...", "The only GPUs that may be handed out"}, options.allow);
    cli.add({"--max-devices", "N", "How many GPUs one container may have"}, options.max_devices);
    cli.add_flag("--list", "Print this host's GPUs, and do nothing else", options.list);
}

SelectionPolicy policy_of(const GpuOptions &options)
{
    SelectionPolicy policy;
    if (options.allow)
        policy.allow = parse_allowed_selectors({*options.allow, "option '--allow'"});
    policy.max_devices = options.max_devices;
    return policy;
}

} // namespace ogh
