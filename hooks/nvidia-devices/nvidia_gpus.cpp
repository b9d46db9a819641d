// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/nvidia_gpus.h"

#include "base/text.h"
#include "image/previous_request.h"
#include "nvidia-devices/driver/instance_query.h"
#include "nvidia-devices/host/candidates.h"
#include "nvidia-devices/host/device_nodes.h"
#include "nvidia-devices/host/gpu_table.h"
#include "nvidia-devices/host/imex.h"
#include "nvidia-devices/host/library_answer.h"
#include "nvidia-devices/host/mig_devices.h"
#include "nvidia-devices/image/image.h"
#include "nvidia-devices/plan/driver_tree.h"
#include "nvidia-devices/plan/plan.h"
#include "nvidia-devices/plan/requested_tree.h"
#include "nvidia-devices/plan/requirement_check.h"
#include "nvidia-devices/request/gpu_selection.h"
#include "nvidia-devices/request/image_requirements.h"
#include "request/visible_devices.h"

namespace ogh::nvidia_devices {

namespace {

/** Adds to `edits` the driver's files for what is chosen. */
void add_driver_tree(Hook &hook, const Sysroot &driver_root, const GpuSelection &selection,
                     const Inventory &inventory, Edits &edits, Notes &notes)
{
    Image image;
    std::optional<std::string> earlier;
    if (hook.config()) {
        ContainerView &view = hook.look();
        earlier = read_previous_request(view, std::string(tree_folder) + "/" + record_name);
        image = read_image(view.reader(ReadAs::Process), *hook.config(), notes);
    }
    plan_driver_tree(read_requested_tree(driver_root, selection, inventory, earlier, notes), image, edits,
                     notes);
}

/** A further request of a container may move an earlier one to what this one does not mean. */
void read_chosen(const Sysroot &sysroot, Inventory &inventory, const std::vector<InstancePlace> &chosen)
{
    read_instances(sysroot, inventory, chosen);
    for (const auto &[gpu, place] : chosen) {
        const std::string &problem = inventory.gpus[gpu].instances[place].problem;
        if (!problem.empty())
            throw Error(ErrorKind::BrokenHost, "the instance cannot be given: " + problem);
    }
}

} // namespace

/**
 * The units of nvidia-container-toolkit 1.18 and later write /var/run/cdi/nvidia.yaml. `none` gives what the driver says of
 * itself; and, if any are named, capabilities.
 */
NvidiaGpus::NvidiaGpus()
    : GpuVendor({.tags = {"nvidia", "cuda"},
                 .cdi = {"nvidia.com/gpu", {"nvidia-cdi-refresh.path", "nvidia-cdi-refresh.service"}, {}},
                 .plugin_names = nvidia_plugin_names(),
                 .has_use_for_none = true})
{
}

void NvidiaGpus::add_options(CommandLine &cli)
{
    cli.add({"--driver-root", "DIR", "Where the driver's files are (default: /)"}, driver_root_);
    cli.add({"--capabilities", "LIST", "What --request asks for beside GPUs (default: see the annotation)"},
            requested_capabilities_);
    cli.add({"--allow-capabilities", "LIST",
             "The only capabilities that may be asked for, or none (default: every capability)"},
            allow_capabilities_);
    cli.add({"--imex", "LIST", "IMEX channels that --request asks for beside GPUs (default: none)"}, imex_);
    cli.add({"--allow-imex", "LIST", "The only IMEX channels that may be asked for, or all (default: none)"},
            allow_imex_);
}

void NvidiaGpus::check_options(const CommonOptions &common, bool is_for_cdi)
{
    if (requested_capabilities_ && !common.request && !is_for_cdi)
        throw Error(ErrorKind::Usage, "--capabilities needs --request");
    if (allow_capabilities_)
        allowed_.push_back(
            parse_allowed_capabilities({*allow_capabilities_, "option '--allow-capabilities'"}));
}

HostListing NvidiaGpus::list(const Sysroot &sysroot, const SelectionPolicy &policy, Notes &notes)
{
    inventory_ = read_inventory(sysroot, notes);
    require_gpu(inventory_);
    name_instances_for({}, policy, sysroot, notes);
    HostListing listing = list_gpus(inventory_, policy);
    if (const auto channels = imex_fact(inventory_, imex_policy()))
        listing.facts.emplace_back("imex", *channels);
    return listing;
}

std::vector<Candidate> NvidiaGpus::gpus() const
{
    return candidates(inventory_);
}

std::optional<Selectors> NvidiaGpus::asked_of_tools(const Config &config)
{
    refuse_plugin_mounts(config, traits().plugin_names);
    return nvidia_visible_devices(config);
}

void NvidiaGpus::ask(const GpuRequest &request, const Hook &hook)
{
    if (request.by_environment && !request.selectors.none)
        requirements_ = requirements_of(*hook.config());
    if (const auto &limit = request.asked.limits.allow_capabilities)
        allowed_.push_back(
            parse_allowed_capabilities({*limit, "--allow-capabilities of a line of the key file"}));
    const auto named = named_capabilities(request, hook);
    capabilities_ = named.value_or(default_capabilities());
    // `none` is what a host gives every container as a default: it is to cost nothing.
    has_files_ = !request.selectors.none || named;
    if (!has_files_)
        return;
    for (const Capabilities &allowed : allowed_)
        capabilities_ = permitted(capabilities_, allowed);
    ask_for_channels(request, hook);
}

std::optional<Capabilities> NvidiaGpus::named_capabilities(const GpuRequest &request, const Hook &hook) const
{
    if (const auto own = hook.value("nvidia-devices.capabilities"))
        return parse_capabilities(*own);
    if (requested_capabilities_ && hook.is_by_host(request.asked))
        return parse_capabilities({*requested_capabilities_, "option '--capabilities'"});
    if (request.by_environment)
        return capabilities_of_environment(*hook.config());
    return std::nullopt;
}

ImexPolicy NvidiaGpus::imex_policy() const
{
    return allow_imex_ ? ImexPolicy({*allow_imex_, "option '--allow-imex'"}) : ImexPolicy();
}

void NvidiaGpus::ask_for_channels(const GpuRequest &request, const Hook &hook)
{
    const bool is_by_host =
        hook.options().request && (request.asked.for_all || hook.options().opt_in != OptIn::Always);
    if (imex_ && !hook.options().request)
        throw Error(ErrorKind::Usage, "--imex needs --request");
    if (request.selectors.none)
        return; // a container without a GPU has no use for them, and gets no node
    const auto asked = hook.value("nvidia-devices.imex");
    if (asked && request.asked.plugin)
        throw Error(ErrorKind::Denied, "the " + asked->origin +
                                           " does not count here: the host has a device plugin choose "
                                           "(--from), channels as well");
    if (asked)
        imex_channels_ = parse_imex_channels(*asked);
    else if (request.asked.plugin)
        imex_channels_ = imex_channels_of_plugin(*hook.config(), *request.asked.plugin);
    else if (imex_ && is_by_host)
        imex_channels_ = parse_imex_channels({*imex_, "option '--imex'"});
    else if (request.by_environment)
        imex_channels_ = imex_channels_of_environment(*hook.config());
    imex_policy().require(imex_channels_);
}

void NvidiaGpus::name_instances_for(const Selectors &selectors, const SelectionPolicy &policy,
                                    const Sysroot &sysroot, Notes &notes)
{
    const auto name = find_library_name(selectors, policy);
    const auto addresses = addresses_of_divided(inventory_);
    if (!name || addresses.empty())
        return;
    const auto no_names = [&](ErrorKind kind, const std::string &why) {
        return Error(kind, "no GPU " + quote(*name) + ": " + why + "; " + without_library(inventory_));
    };
    try {
        if (!inventory_.version)
            throw NoLibrary("the driver's version is not known");
        const std::string answer =
            query_instances(sysroot, open_driver_root(sysroot, driver_root_), inventory_, addresses, notes);
        name_instances(parse_library_answer(answer), inventory_);
    } catch (const NoLibrary &error) {
        throw no_names(
            ErrorKind::NotAvailable,
            std::string("NVIDIA's library alone knows how the instances of a GPU (MIG) are counted, and "
                        "UUIDs and profiles of theirs, and ") +
                error.what());
    } catch (const Error &error) {
        throw no_names(error.kind(), error.what());
    }
}

std::optional<std::vector<Candidate>> NvidiaGpus::find(const Sysroot &sysroot, const GpuRequest &request,
                                                       Notes &notes)
{
    inventory_ = find_gpus(sysroot, notes);
    // No error: nobody has asked for a GPU in this container.
    if (!inventory_.has_driver && (request.asked.for_all || request.selectors.none)) {
        notes.push_back({LogLevel::Info, "nothing to do: this host has no NVIDIA driver"});
        return std::nullopt;
    }
    require_driver(inventory_);
    require_imex_channels(inventory_, imex_channels_);
    name_instances_for(request.selectors, request.policy, sysroot, notes);
    read_instances(sysroot, inventory_, meant_instances(request.selectors, inventory_));
    if (request.selectors.allowed)
        read_access(sysroot, inventory_);
    return candidates(inventory_);
}

Edits NvidiaGpus::plan(const std::vector<size_t> &chosen, const Sysroot &sysroot, Hook &hook, Notes &notes)
{
    GpuSelection selection = selection_of(chosen, inventory_);
    read_chosen(sysroot, inventory_, selection.instances);
    selection.capabilities = capabilities_;
    selection.imex_channels = imex_channels_;
    check_requirements(requirements_, sysroot, inventory_, selection.gpus, notes);
    Edits edits =
        nvidia_devices::plan(selection, inventory_, read_device_nodes(sysroot, inventory_, selection), notes);
    if (has_files_)
        add_driver_tree(hook, open_driver_root(sysroot, driver_root_), selection, inventory_, edits, notes);
    return edits;
}

} // namespace ogh::nvidia_devices
