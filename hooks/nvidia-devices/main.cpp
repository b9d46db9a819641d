// SPDX-License-Identifier: Apache-2.0
#include "hook/gpu_hook.h"
#include "image/earlier_file.h"
#include "nvidia-devices/host/further_nodes.h"
#include "nvidia-devices/host/gpu_list.h"
#include "nvidia-devices/host/inventory.h"
#include "nvidia-devices/host/vendor_hook.h"
#include "nvidia-devices/image/image.h"
#include "nvidia-devices/plan/driver_tree.h"
#include "nvidia-devices/plan/plan.h"
#include "nvidia-devices/plan/wanted_tree.h"
#include "nvidia-devices/request/capabilities.h"
#include "nvidia-devices/request/toolkit_requests.h"
#include "nvidia-devices/request/wanted.h"
#include "request/selection.h"
#include "request/visible_devices.h"

namespace {

using namespace ogh;
using namespace ogh::nvidia_devices;

constexpr const char *name = "nvidia-devices";

/** What the container's environment asks of NVIDIA's own tools; nothing if it asks for nothing. */
std::optional<Selectors> read_environment(const Hook &hook)
{
    if (!hook.config())
        throw Error(ExitCode::Usage, "'env' needs a container: its state on stdin");
    refuse_device_mounts(*hook.config());
    auto selectors = nvidia_visible_devices(*hook.config());
    Notes notes;
    if (!selectors)
        notes.push_back({LogLevel::Info, "nothing to do: the container's environment asks for no GPU"});
    else if (!selectors->none)
        check_further_variables(*hook.config(), notes);
    hook.note(notes);
    return selectors;
}

/**
 * @param asked what was asked for of GPUs
 * @param by_environment the environment has chosen the GPUs
 * @return nothing if none are named
 */
std::optional<Capabilities> read_capabilities(const Hook &hook, const Asked &asked, const GpuOptions &options,
                                              bool by_environment)
{
    if (const auto list = asked_capabilities(hook, std::string(name) + ".capabilities", asked, options))
        return parse_capabilities(*list);
    if (by_environment)
        return capabilities_of_environment(*hook.config());
    return std::nullopt;
}

/** Adds to `edits` the driver's files for what is wanted. */
void add_driver_tree(Hook &hook, const Sysroot &driver_root, const Wanted &wanted, const Inventory &inventory,
                     Edits &edits, Notes &notes)
{
    Image image;
    std::optional<std::string> earlier;
    if (hook.config()) {
        ContainerView &view = hook.look();
        earlier = read_earlier_file(view, std::string(tree_folder) + "/" + given_name);
        image = read_image(view.reader(ReadAs::Process), *hook.config(), notes);
    }
    plan_driver_tree(read_wanted_tree(driver_root, wanted, inventory, earlier, notes), image, edits, notes);
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

std::optional<Capabilities> parse(const std::optional<Asked> &allowed)
{
    return allowed ? std::optional(parse_allowed_capabilities(*allowed)) : std::nullopt;
}

void print_list(const Hook &hook, const Sysroot &sysroot, const SelectionPolicy &policy, ListFormat format)
{
    Notes notes;
    const Inventory inventory = read_inventory(sysroot, notes);
    hook.note(notes);
    require_gpu(inventory);
    Hook::print(to_text(list_gpus(inventory, policy), format));
}

void run(Hook &hook, const GpuOptions &options, const std::string &driver_root)
{
    SelectionPolicy policy = policy_of(options);
    const auto allowed = parse(allowed_capabilities(options));
    const Sysroot sysroot(hook.options().sysroot);
    if (options.list.list) {
        print_list(hook, sysroot, policy, options.list.format.value_or(ListFormat::Table));
        return;
    }
    const auto asked = hook.request();
    if (!asked)
        return;
    limit(policy, *asked);
    std::optional<Selectors> selectors = parse_selectors(*asked);
    const bool by_environment = selectors->environment;
    if (by_environment)
        selectors = read_environment(hook);
    if (!selectors)
        return;
    const auto allowed_by_key = parse(allowed_capabilities(asked->limits));
    const auto named = read_capabilities(hook, *asked, options, by_environment);
    Notes notes;
    const Inventory inventory = read_inventory(sysroot, notes);
    if (!inventory.has_driver && is_optional(*selectors, *asked)) {
        hook.note({{LogLevel::Info, "nothing to do: this host has no NVIDIA driver"}});
        return;
    }
    require_driver(inventory);
    // `none` is what a host gives every container as a default: it is to cost nothing.
    const bool has_files = !selectors->none || named;
    const Capabilities capabilities = named.value_or(default_capabilities());
    const Wanted wanted{resolve(*selectors, candidates(inventory), policy, {}, notes),
                        has_files ? permitted(permitted(capabilities, allowed), allowed_by_key)
                                  : capabilities};
    Edits edits = plan(wanted, inventory, read_further_nodes(sysroot, inventory, wanted), notes);
    if (has_files)
        add_driver_tree(hook, open_driver_root(sysroot, driver_root), wanted, inventory, edits, notes);
    warn_of_vendor_hook(hook, sysroot, notes);
    hook.note(notes);
    hook.carry_out(edits);
}

} // namespace

int main(int argc, char **argv)
{
    std::string driver_root = "/";
    const auto body = [&](Hook &hook, const GpuOptions &options) { run(hook, options, driver_root); };
    return run_gpu_hook(
        name, "Gives a container NVIDIA GPUs of the host", argc, argv, body, [&](CommandLine &cli) {
            cli.add({"--driver-root", "DIR", "Where the driver's files are (default: /)"}, driver_root);
        });
}
