// SPDX-License-Identifier: Apache-2.0
#include "amd-kfd/plan.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "amd-kfd/kfd_topology.h"

namespace ogh::amd_kfd {

namespace {

/** What udev's links in /dev/dri/by-path begin with. */
std::string by_path_prefix(const Gpu &gpu)
{
    return (parse_pci_address(gpu.device) ? "pci-" : "platform-") + gpu.device;
}

/**
 * Without a device cgroup KFD gives a process all GPUs of the host, and ROCm fails on the first that it has no render
 * node of. Those that a device cgroup hides from this process do not count.
 */
void check_rootless(const std::vector<size_t> &gpus, const Inventory &inventory, bool rootless)
{
    // What the device cgroup keeps from this process, KFD keeps from the container.
    const auto there =
        static_cast<size_t>(std::count_if(inventory.gpus.begin(), inventory.gpus.end(), [](const Gpu &gpu) {
            return gpu.access != NodeAccess::DeniedByCgroup;
        }));
    if (!rootless || gpus.empty() || gpus.size() == there)
        return;
    throw Error(ErrorKind::BrokenHost,
                std::to_string(gpus.size()) + " of " + std::to_string(there) +
                    " AMD GPUs asked for: ROCm works on some of several GPUs only behind a device cgroup, "
                    "which a rootless engine cannot set; ask for all of them ('0-" +
                    std::to_string(there - 1) + "'), or run the engine as root");
}

/** Where `environment` has HSA_OVERRIDE_GFX_VERSION, or that for one GPU, somebody has thought of it. */
void note_overrides(const std::vector<size_t> &gpus, const Inventory &inventory,
                    const std::vector<std::string> &environment, Notes &notes)
{
    const auto is_override = [](std::string_view entry) {
        const std::string_view name = entry.substr(0, entry.find('='));
        return name == override_variable || name.starts_with(std::string(override_variable) + "_");
    };
    if (std::any_of(environment.begin(), environment.end(), is_override))
        return;
    std::set<unsigned> seen;
    for (const size_t gpu : gpus) {
        const GfxVersion gfx = inventory.gpus[gpu].kfd.gfx;
        const std::string hint = override_text(gfx);
        if (!hint.empty() && seen.insert(gfx.number).second)
            notes.push_back({LogLevel::Info, "ROCm of the image may not know " + name_of(gfx) + "; if so, " +
                                                 hint + " in the container's environment is worth a try"});
    }
}

} // namespace

Edits AmdInputs::plan(Notes &notes) const
{
    check_rootless(chosen, inventory, is_rootless);
    Edits edits;
    if (chosen.empty())
        return edits;
    edits.nodes.push_back(driver_node(inventory.host_root, "/dev/kfd", inventory.kfd.value()));
    for (const size_t gpu : chosen)
        add_drm_nodes(inventory.gpus[gpu].drm, inventory.host_root, by_path_prefix(inventory.gpus[gpu]),
                      edits);
    note_overrides(chosen, inventory, environment, notes);
    return edits;
}

} // namespace ogh::amd_kfd
