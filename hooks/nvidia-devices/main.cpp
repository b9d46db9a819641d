// SPDX-License-Identifier: Apache-2.0
#include "capabilities.h"
#include "further_nodes.h"
#include "gpu_hook.h"
#include "gpu_list.h"
#include "inventory.h"
#include "plan.h"
#include "selection.h"
#include "vendor_hook.h"
#include "visible_devices.h"
#include "wanted.h"

namespace {

using namespace ogh;
using namespace ogh::nvidia_devices;

constexpr const char *name = "nvidia-devices";

/** What the container's environment asks of NVIDIA's own tools; nothing if it asks for nothing. */
std::optional<Selectors> read_environment(const Hook &hook)
{
    if (!hook.config())
        throw Error(ExitCode::Usage, "'env' needs a container: its state on stdin");
    auto selectors = nvidia_visible_devices(*hook.config());
    if (!selectors)
        hook.note({{LogLevel::Info, "nothing to do: the container's environment asks for no GPU"}});
    return selectors;
}

/** @param by_environment the environment has chosen the GPUs */
Capabilities read_capabilities(const Hook &hook, bool by_environment)
{
    if (const auto asked = hook.value(std::string(name) + ".capabilities"))
        return parse_capabilities(*asked);
    return by_environment ? capabilities_of_environment(*hook.config()) : default_capabilities();
}

/** Whether it is no error that the host has no driver: then nobody has asked for a GPU in this container. */
bool is_optional(const Selectors &selectors, const Asked &asked)
{
    return asked.for_all || selectors.none;
}

void warn_of_vendor_hook(const Hook &hook, const Sysroot &sysroot, Notes &notes)
{
    const auto found = hook.config() ? find_vendor_hook(*hook.config(), sysroot) : std::nullopt;
    if (found)
        notes.push_back(
            {LogLevel::Warning, "NVIDIA's own hook is in force too and gives GPUs as it sees fit, "
                                "whatever is allowed here: " +
                                    *found + "; see nvidia-devices(8)"});
}

void run(Hook &hook, const GpuOptions &options)
{
    const SelectionPolicy policy = policy_of(options);
    const Sysroot sysroot(hook.options().sysroot);
    Notes notes;
    if (options.list) {
        const Inventory inventory = read_inventory(sysroot, notes);
        hook.note(notes);
        require_driver(inventory);
        Hook::print(list_gpus(inventory, policy));
        return;
    }
    const auto asked = hook.request();
    if (!asked)
        return;
    std::optional<Selectors> selectors = parse_selectors(*asked);
    const bool by_environment = selectors->environment;
    if (by_environment)
        selectors = read_environment(hook);
    if (!selectors)
        return;
    const Capabilities capabilities = read_capabilities(hook, by_environment);
    const Inventory inventory = read_inventory(sysroot, notes);
    if (!inventory.has_driver && is_optional(*selectors, *asked)) {
        hook.note({{LogLevel::Info, "nothing to do: this host has no NVIDIA driver"}});
        return;
    }
    require_driver(inventory);
    const Wanted wanted{resolve(*selectors, candidates(inventory), policy, {}, notes), capabilities};
    const Edits edits = plan(wanted, inventory, read_further_nodes(sysroot, inventory, wanted), notes);
    warn_of_vendor_hook(hook, sysroot, notes);
    hook.note(notes);
    hook.carry_out(edits);
}

} // namespace

int main(int argc, char **argv)
{
    return run_gpu_hook(name, "Gives a container NVIDIA GPUs of the host", argc, argv, run);
}
