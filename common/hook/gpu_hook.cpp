// SPDX-License-Identifier: Apache-2.0
#include "hook/gpu_hook.h"

#include <linux/capability.h>

#include <algorithm>

#include "base/error.h"
#include "cgroup/device_cgroups.h"

namespace ogh {

namespace {

void add_options(CommandLine &cli, GpuOptions &options)
{
    cli.add({"--allow", "GPU,...", "The only GPUs that may be handed out (default: every GPU)"},
            options.allow);
    cli.add({"--max-devices", "N", "How many GPUs one container may have (default: no limit)"},
            options.max_devices);
    cli.add({"--capabilities", "LIST", "What --request asks for beside GPUs (default: see the annotation)"},
            options.capabilities);
    cli.add({"--allow-capabilities", "LIST",
             "The only capabilities that may be asked for, or none (default: every capability)"},
            options.allow_capabilities);
    add_list_options(cli, "Print this host's GPUs, and do nothing else", options.list);
}

void check(const GpuOptions &options, const CommonOptions &common)
{
    if (options.capabilities && !common.request)
        throw Error(ExitCode::Usage, "--capabilities needs --request");
    check(options.list);
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
    const KeyLimits &limits = asked.limits;
    const auto &max_devices = limits.max_devices;
    if (limits.allow)
        policy.allow_too = parse_allowed_selectors({*limits.allow, "--allow of a line of the key file"});
    if (max_devices)
        policy.max_devices = std::min(*max_devices, policy.max_devices.value_or(*max_devices));
}

std::optional<Asked> allowed_capabilities(const GpuOptions &options)
{
    if (!options.allow_capabilities)
        return std::nullopt;
    return Asked{*options.allow_capabilities, "option '--allow-capabilities'"};
}

std::optional<Asked> allowed_capabilities(const KeyLimits &limits)
{
    if (!limits.allow_capabilities)
        return std::nullopt;
    return Asked{*limits.allow_capabilities, "--allow-capabilities of a line of the key file"};
}

std::optional<Asked> asked_capabilities(const Hook &hook, std::string_view key, const Asked &asked,
                                        const GpuOptions &options)
{
    if (auto own = hook.value(key))
        return own;
    const bool by_host = asked.for_all || hook.options().opt_in != OptIn::Always;
    if (options.capabilities && hook.options().request && by_host)
        return Asked{*options.capabilities, "option '--capabilities'"};
    return std::nullopt;
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
        check(options, hook.options());
        body(hook, options);
    };
    return run_hook(name, description, run, capabilities);
}

} // namespace ogh
