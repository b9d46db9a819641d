// SPDX-License-Identifier: Apache-2.0
#include "amd-kfd/amd_gpus.h"

#include <string>

#include "amd-kfd/candidates.h"
#include "amd-kfd/device_nodes.h"
#include "amd-kfd/gpu_table.h"
#include "amd-kfd/plan.h"
#include "base/error.h"
#include "kernel/user_namespace.h"
#include "request/visible_devices.h"

namespace ogh::amd_kfd {

/** AMD's plugin names nothing: it has the engine make the nodes that ROCm needs. */
AmdGpus::AmdGpus()
    : GpuVendor({.tags = {"amd", "rocm"},
                 .cdi = {"amd.com/gpu", {}, {{"igpu0", "igpu"}}},
                 .plugin_names = {.variable = "AMD_VISIBLE_DEVICES",
                                  .control_node = "/dev/kfd",
                                  .node_folder = "/dev/dri/",
                                  .node_prefix = "renderD"}})
{
}

HostListing AmdGpus::list(const Sysroot &sysroot, const SelectionPolicy &policy, Notes &notes)
{
    inventory_ = read_inventory(sysroot, {true, true, true}, notes);
    if (const auto why = why_none(inventory_))
        throw Error(*why);
    return list_gpus(inventory_, policy);
}

std::vector<Candidate> AmdGpus::gpus() const
{
    return candidates(inventory_);
}

std::optional<Selectors> AmdGpus::asked_of_tools(const Config &config)
{
    return amd_visible_devices(config);
}

std::optional<std::vector<Candidate>> AmdGpus::find(const Sysroot &sysroot, const GpuRequest &request,
                                                    Notes &notes)
{
    inventory_ = read_inventory(sysroot, details_for(request.selectors, request.policy), notes);
    const auto why = why_none(inventory_);
    if (!why) {
        if (request.selectors.allowed)
            read_access(sysroot, inventory_);
        return candidates(inventory_);
    }
    // What the host asks for every container is not asked of a host without GPUs.
    if (!request.asked.for_all || why->kind() != ErrorKind::NotAvailable)
        throw Error(*why);
    notes.push_back({LogLevel::Info, "nothing to do: " + std::string(why->what())});
    return std::nullopt;
}

Edits AmdGpus::plan(const std::vector<size_t> &chosen, const Sysroot &sysroot, Hook &hook, Notes &notes)
{
    check_rootless(chosen, inventory_, !in_initial_user_namespace());
    Edits edits = amd_kfd::plan(inventory_, read_device_nodes(sysroot, inventory_, chosen));
    const auto environment = hook.config() ? hook.config()->environment : std::vector<std::string>();
    const Notes hints = override_notes(chosen, inventory_, environment);
    notes.insert(notes.end(), hints.begin(), hints.end());
    return edits;
}

} // namespace ogh::amd_kfd
