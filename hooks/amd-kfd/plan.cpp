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

class Nodes final {
public:
    Nodes(const std::string &host_root, Edits &edits) : host_root_(host_root), edits_(edits) {}

    void add(const std::string &path, unsigned major_number, unsigned minor_number)
    {
        edits_.nodes.push_back({path, host_root_ + path, major_number, minor_number});
    }

    void add_drm(const Gpu &gpu, const std::optional<DrmNode> &node, const char *kind)
    {
        if (!node)
            return;
        add(dri_directory + node->name, node->major, node->minor);
        edits_.links.push_back(
            {std::string(dri_directory) + "by-path/" + by_path_prefix(gpu) + kind, "../" + node->name});
    }

private:
    const std::string &host_root_;
    Edits &edits_;
};

} // namespace

Edits plan(const Inventory &inventory, const DeviceNodes &host)
{
    Edits edits;
    if (host.empty())
        return edits;
    Nodes nodes(inventory.host_root, edits);
    const DeviceNumber kfd = inventory.kfd.value();
    nodes.add("/dev/kfd", kfd.major, kfd.minor);
    edits.nodes.back().is_of_driver = true;
    for (const auto &[gpu, drm] : host) {
        nodes.add_drm(inventory.gpus[gpu], drm.card, "-card");
        nodes.add_drm(inventory.gpus[gpu], drm.render, "-render");
    }
    return edits;
}

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

Notes override_notes(const std::vector<size_t> &gpus, const Inventory &inventory,
                     const std::vector<std::string> &environment)
{
    Notes notes;
    const auto is_override = [](std::string_view entry) {
        const std::string_view name = entry.substr(0, entry.find('='));
        return name == override_variable || name.starts_with(std::string(override_variable) + "_");
    };
    if (std::any_of(environment.begin(), environment.end(), is_override))
        return notes;
    std::set<unsigned> seen;
    for (const size_t gpu : gpus) {
        const GfxVersion gfx = inventory.gpus[gpu].kfd.gfx;
        const std::string hint = override_text(gfx);
        if (!hint.empty() && seen.insert(gfx.number).second)
            notes.push_back({LogLevel::Info, "ROCm of the image may not know " + name_of(gfx) + "; if so, " +
                                                 hint + " in the container's environment is worth a try"});
    }
    return notes;
}

Edits AmdInputs::plan(Notes &notes) const
{
    check_rootless(chosen, inventory, is_rootless);
    Edits edits = amd_kfd::plan(inventory, nodes);
    const Notes hints = override_notes(chosen, inventory, environment);
    notes.insert(notes.end(), hints.begin(), hints.end());
    return edits;
}

} // namespace ogh::amd_kfd
