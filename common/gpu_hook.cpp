// SPDX-License-Identifier: Apache-2.0
#include "gpu_hook.h"

#include <linux/capability.h>

#include <algorithm>

#include "device_cgroups.h"

namespace ogh {

namespace {

void add_options(CommandLine &cli, GpuOptions &options)
{
    cli.add({"--allow", "GPU,...", "The only GPUs that may be handed out (default: every GPU)"},
            options.allow);
    cli.add({"--max-devices", "N", "How many GPUs one container may have (default: no limit)"},
            options.max_devices);
    add_list_options(cli, "Print this host's GPUs, and do nothing else", options.list);
}

} // namespace

SelectionPolicy policy_of(const GpuOptions &options)
{
    SelectionPolicy policy;
    if (options.allow)
        policy.allow = parse_allowed_selectors({*options.allow, "option '--allow'"});
    policy.max_devices = options.max_devices;
    return policy;
}

void limit(SelectionPolicy &policy, const Asked &asked)
{
    const auto &[allow, max_devices] = asked.limits;
    if (allow)
        policy.allow_too = parse_allowed_selectors({*allow, "--allow of a line of the key file"});
    if (max_devices)
        policy.max_devices = std::min(*max_devices, policy.max_devices.value_or(*max_devices));
}

int run_gpu_hook(const char *name, const char *description, int argc, const char *const *argv,
                 const std::function<void(Hook &, const GpuOptions &)> &body, const AddOptions &add_further)
{
    std::vector<unsigned> capabilities(device_cgroup_capabilities.begin(), device_cgroup_capabilities.end());
    capabilities.push_back(CAP_MKNOD);
    const auto run = [&](Hook &hook) {
        GpuOptions options;
        add_options(hook.cli(), options);
        if (add_further)
            add_further(hook.cli());
        if (!hook.parse(argc, argv))
            return;
        check(options.list);
        body(hook, options);
    };
    return run_hook(name, description, run, capabilities);
}

} // namespace ogh
