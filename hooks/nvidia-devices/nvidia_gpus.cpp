// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/nvidia_gpus.h"

#include "base/error.h"
#include "host/pci_devices.h"
#include "nvidia-devices/host/candidates.h"
#include "nvidia-devices/host/gpu_users.h"
#include "nvidia-devices/host/instance_names.h"
#include "nvidia-devices/nvidia_host.h"
#include "nvidia-devices/request/plugin_names.h"
#include "request/availability.h"
#include "request/candidate_addresses.h"

namespace ogh::nvidia_devices {

/**
 * The units of nvidia-container-toolkit 1.18 and later write /var/run/cdi/nvidia.yaml. `none` gives what the driver says of
 * itself; and, if any are named, capabilities.
 */
NvidiaGpus::NvidiaGpus()
    : GpuVendor({.name = "nvidia-devices",
                 .description = "Gives a container NVIDIA GPUs of the host",
                 .tags = {"nvidia", "cuda"},
                 .cdi = {"nvidia.com/gpu", {"nvidia-cdi-refresh.path", "nvidia-cdi-refresh.service"}, {}},
                 .plugin_names = nvidia_plugin_names(),
                 .asked_of_tools =
                     [this](const Config &config) { return nvidia_visible_devices(config, count_means_); },
                 .is_served_by_tools = has_vendor_hook,
                 .has_use_for_none = true})
{
}

void NvidiaGpus::add_options(CommandLine &cli)
{
    cli.add({"--driver-root", "DIR", "Where the driver's files are (default: /)"}, driver_root_);
    cli.add_choice(
        {"--count-means", "NAME",
         "What 0,1,... in the container's variable means, which docker makes of --gpus N: first or any "
         "(default: first)"},
        {"first", "any"}, [this](const std::string &name) {
            count_means_ = name == "any" ? CountMeans::Any : CountMeans::First;
        });
    cli.add({"--capabilities", "LIST", "What --request asks for beside GPUs (default: see the annotation)"},
            extras_.capabilities);
    cli.add({"--allow-capabilities", "LIST",
             "The only capabilities that may be asked for, or none (default: every capability)"},
            allow_capabilities_);
    cli.add({"--imex", "LIST", "IMEX channels that --request asks for beside GPUs (default: none)"},
            extras_.imex);
    cli.add({"--allow-imex", "LIST", "The only IMEX channels that may be asked for, or all (default: none)"},
            allow_imex_);
}

void NvidiaGpus::check_options(const CommonOptions &common, bool is_for_cdi)
{
    if (extras_.capabilities && !common.request && !is_for_cdi)
        throw Error(ErrorKind::Usage, "--capabilities needs --request");
    if (count_means_ == CountMeans::Any && common.request != "env")
        throw Error(ErrorKind::Usage, "--count-means any needs --request env");
    if (extras_.imex && !common.request && !is_for_cdi)
        throw Error(ErrorKind::Usage, "--imex needs --request");
    if (allow_capabilities_)
        extras_.allow_capabilities =
            parse_allowed_capabilities({*allow_capabilities_, "option '--allow-capabilities'"});
    if (allow_imex_)
        extras_.allow_imex = ImexPolicy({*allow_imex_, "option '--allow-imex'"});
}

GpuList NvidiaGpus::list(const Sysroot &sysroot, const SelectionPolicy &policy, Notes &notes) const
{
    Inventory inventory = read_inventory(sysroot, notes);
    require_gpu(inventory);
    name_instances_for({}, policy, {sysroot, driver_root_}, inventory, notes);
    auto gpus = candidates(inventory);
    if (!policy.ignores_health)
        mark_dead(gpus, PciDevices(sysroot).dead_among(addresses_of(gpus)));
    HostListing listing = list_gpus(inventory, gpus, policy);
    if (const auto channels = imex_fact(inventory, extras_.allow_imex))
        listing.facts.emplace_back("imex", *channels);
    const auto find = [&sysroot, inventory = std::move(inventory)](const auto &processes,
                                                                   const auto &monitors) {
        return find_users(sysroot, inventory, processes, monitors);
    };
    return {std::move(listing), std::move(gpus), find};
}

std::unique_ptr<GpuHost> NvidiaGpus::look(const Sysroot &sysroot, const GpuRequest &request,
                                          Notes &notes) const
{
    Extras extras = extras_of(request, extras_);
    Inventory inventory = find_gpus(sysroot, notes);
    // No error: nobody has asked for a GPU in this container.
    if (!inventory.has_driver && (request.asked.may_go_without() || request.selectors.none)) {
        notes.push_back({LogLevel::Info, "nothing to do: this host has no NVIDIA driver"});
        return nullptr;
    }
    require_driver(inventory);
    require_imex_channels(inventory, extras.imex_channels);
    const DriverPlaces places{sysroot, driver_root_};
    name_instances_for(request.selectors, request.policy, places, inventory, notes);
    read_instances(sysroot, inventory, meant_instances(request.selectors, inventory));
    if (request.selectors.allowed)
        read_access(sysroot, inventory);
    auto gpus = candidates(inventory);
    if (!request.policy.ignores_health)
        mark_dead(gpus,
                  PciDevices(sysroot).dead_among(addresses_meant(request.selectors, gpus, request.policy)));
    return std::make_unique<NvidiaHost>(places, std::move(inventory), std::move(gpus), std::move(extras));
}

} // namespace ogh::nvidia_devices
