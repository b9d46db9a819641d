// SPDX-License-Identifier: Apache-2.0
#include "amd-kfd/amd_gpus.h"

#include <cstdint>
#include <string>
#include <utility>

#include "amd-kfd/candidates.h"
#include "amd-kfd/gpu_users.h"
#include "amd-kfd/plan.h"
#include "base/error.h"
#include "base/text.h"
#include "host/pci_devices.h"
#include "kernel/user_namespace.h"
#include "request/availability.h"
#include "request/candidate_addresses.h"
#include "request/visible_devices.h"

namespace ogh::amd_kfd {

namespace {

class AmdHost final : public GpuHost {
public:
    AmdHost(const Sysroot &sysroot, Inventory inventory, std::vector<Candidate> gpus,
            std::uint64_t empty_below)
        : GpuHost(std::move(gpus)), sysroot_(sysroot), inventory_(std::move(inventory)),
          empty_below_(empty_below)
    {
    }

    [[nodiscard]] GpuUsers find_users(const Processes &processes, const Monitors &monitors) const override
    {
        return amd_kfd::find_users(sysroot_, inventory_, empty_below_, processes, monitors);
    }

    [[nodiscard]] std::unique_ptr<const GpuInputs> gather(const std::vector<size_t> &chosen, Hook &hook,
                                                          Notes & /*notes*/) override
    {
        auto inputs = std::make_unique<AmdInputs>();
        inputs->chosen = chosen;
        inputs->is_rootless = !in_initial_user_namespace();
        inputs->nodes = read_device_nodes(sysroot_, inventory_, chosen);
        if (hook.config())
            inputs->environment = hook.config()->environment;
        inputs->inventory = std::move(inventory_);
        return inputs;
    }

private:
    const Sysroot &sysroot_;
    Inventory inventory_; ///< moved into what gather() returns
    std::uint64_t empty_below_;
};

} // namespace

/** AMD's plugin names nothing: it has the engine make the nodes that ROCm needs. */
AmdGpus::AmdGpus()
    : GpuVendor({.name = "amd-kfd",
                 .description = "Gives a container AMD GPUs of the host",
                 .tags = {"amd", "rocm"},
                 .cdi = {"amd.com/gpu", {}, {{"igpu0", "igpu"}}},
                 .plugin_names = {.variable = "AMD_VISIBLE_DEVICES",
                                  .control_node = "/dev/kfd",
                                  .node_directory = "/dev/dri/",
                                  .node_prefix = "renderD"},
                 .asked_of_tools = amd_visible_devices})
{
}

void AmdGpus::add_options(CommandLine &cli)
{
    cli.add({"--empty-below", "SIZE",
             "How much of its memory is in use at least of a GPU that is not empty (default: 512MiB)"},
            empty_below_);
}

void AmdGpus::check_options(const CommonOptions & /*common*/, bool /*is_for_cdi*/)
{
    if (!parse_memory_size(empty_below_))
        throw Error(ErrorKind::Usage, "the option '--empty-below' is " + quote(empty_below_) +
                                          ", which is no size such as '512MiB' or '2GiB'");
}

GpuList AmdGpus::list(const Sysroot &sysroot, const SelectionPolicy &policy, Notes &notes) const
{
    Inventory inventory = read_inventory(sysroot, {true, true, true}, notes);
    if (const auto why = why_none(inventory))
        throw Error(*why);
    auto gpus = candidates(inventory);
    if (!policy.ignores_health)
        mark_dead(gpus, PciDevices(sysroot).dead_among(addresses_of(gpus)));
    HostListing listing = list_gpus(inventory, gpus, policy);
    const auto find = [&sysroot, inventory = std::move(inventory), below = *parse_memory_size(empty_below_)](
                          const auto &processes, const auto &monitors) {
        return find_users(sysroot, inventory, below, processes, monitors);
    };
    return {std::move(listing), std::move(gpus), find};
}

std::unique_ptr<GpuHost> AmdGpus::look(const Sysroot &sysroot, const GpuRequest &request, Notes &notes) const
{
    Inventory inventory = read_inventory(sysroot, details_for(request.selectors, request.policy), notes);
    if (const auto why = why_none(inventory)) {
        // What the host asks for containers that did not is not asked of a host without GPUs.
        if (!request.asked.may_go_without() || why->kind() != ErrorKind::NotAvailable)
            throw Error(*why);
        notes.push_back({LogLevel::Info, "nothing to do: " + std::string(why->what())});
        return nullptr;
    }
    if (request.selectors.allowed)
        read_access(sysroot, inventory);
    auto gpus = candidates(inventory);
    if (!request.policy.ignores_health)
        mark_dead(gpus,
                  PciDevices(sysroot).dead_among(addresses_meant(request.selectors, gpus, request.policy)));
    return std::make_unique<AmdHost>(sysroot, std::move(inventory), std::move(gpus),
                                     *parse_memory_size(empty_below_));
}

} // namespace ogh::amd_kfd
