// SPDX-License-Identifier: Apache-2.0
#include "amd-kfd/candidates.h"
#include "amd-kfd/capabilities.h"
#include "amd-kfd/gpu_list.h"
#include "amd-kfd/host_nodes.h"
#include "amd-kfd/inventory.h"
#include "amd-kfd/plan.h"
#include "amd-kfd/wanted.h"
#include "hook/gpu_hook.h"
#include "kernel/user_namespace.h"
#include "request/selection.h"
#include "request/visible_devices.h"

namespace {

using namespace ogh;
using namespace ogh::amd_kfd;

constexpr const char *name = "amd-kfd";

void print_list(const Hook &hook, const Sysroot &sysroot, const SelectionPolicy &policy, ListFormat format)
{
    Notes notes;
    const Inventory inventory = read_inventory(sysroot, {true, true, true}, notes);
    hook.note(notes);
    if (const auto why = why_none(inventory))
        throw Error(*why);
    Hook::print(to_text(list_gpus(inventory, policy), format));
}

/** @return nothing if no GPU is asked for; never `none` or `env` */
std::optional<Selectors> read_selectors(const Hook &hook, const Asked &asked)
{
    std::optional<Selectors> selectors = parse_selectors(asked);
    if (selectors->environment) {
        if (!hook.config())
            throw Error(ExitCode::Usage, "'env' needs a container: its state on stdin");
        selectors = amd_visible_devices(*hook.config());
    }
    if (selectors && !selectors->none)
        return selectors;
    hook.note({{LogLevel::Info, selectors ? "nothing to do: no GPU is asked for ('none')"
                                          : "nothing to do: the container's environment asks for no GPU"}});
    return std::nullopt;
}

/** @param asked what was asked for of GPUs */
Capabilities read_capabilities(const Hook &hook, const Asked &asked, const GpuOptions &options)
{
    const auto list = asked_capabilities(hook, std::string(name) + ".capabilities", asked, options);
    const Capabilities wanted = list ? parse_capabilities(*list) : Capabilities();
    for (const auto &allowed : {allowed_capabilities(options), allowed_capabilities(asked.limits)}) {
        if (allowed)
            check_permitted(wanted, parse_allowed_capabilities(*allowed));
    }
    return wanted;
}

/** What the host asks for every container is not asked of a host without GPUs. */
bool is_nothing_to_do(const Hook &hook, const Asked &asked, const Inventory &inventory)
{
    const auto why = why_none(inventory);
    if (!why)
        return false;
    if (!asked.for_all || why->code() != ExitCode::NotAvailable)
        throw Error(*why);
    hook.note({{LogLevel::Info, "nothing to do: " + std::string(why->what())}});
    return true;
}

std::vector<std::string> environment_of(const Hook &hook)
{
    return hook.config() ? hook.config()->environment : std::vector<std::string>();
}

void run(Hook &hook, const GpuOptions &options)
{
    SelectionPolicy policy = policy_of(options);
    const Sysroot sysroot(hook.options().sysroot);
    if (options.list.list) {
        print_list(hook, sysroot, policy, options.list.format.value_or(ListFormat::Table));
        return;
    }
    const auto asked = hook.request();
    const auto selectors = asked ? read_selectors(hook, *asked) : std::nullopt;
    if (!selectors)
        return;
    limit(policy, *asked);
    const Capabilities capabilities = read_capabilities(hook, *asked, options);
    Notes notes;
    const Inventory inventory = read_inventory(sysroot, details_for(*selectors, policy), notes);
    if (is_nothing_to_do(hook, *asked, inventory))
        return;
    const Wanted wanted{resolve(*selectors, candidates(inventory), policy, {}, notes), capabilities};
    check_rootless(wanted.gpus, inventory, !in_initial_user_namespace());
    const Edits edits = plan(wanted, inventory, read_host_nodes(sysroot, inventory, wanted));
    hook.note(notes);
    hook.note(override_notes(wanted.gpus, inventory, environment_of(hook)));
    hook.carry_out(edits);
}

} // namespace

int main(int argc, char **argv)
{
    return run_gpu_hook(name, "Gives a container AMD GPUs of the host", argc, argv, run);
}
