// SPDX-License-Identifier: Apache-2.0
#include "hook/gpu_hook.h"

#include <sys/stat.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/command_line.h"
#include "base/error.h"
#include "base/text.h"
#include "hook/cdi_option.h"
#include "hook/declared_options.h"
#include "hook/gpu_lease.h"
#include "hook/hook.h"
#include "host/pci_devices.h"
#include "lease/leases.h"
#include "lease/waiting/lease_directory.h"
#include "listing/cdi_spec.h"
#include "listing/lease_listing.h"
#include "request/annotations.h"
#include "request/availability.h"
#include "request/selection.h"

namespace ogh {

namespace {

/** What every hook for GPUs takes besides the common options; the host's side. */
struct GpuOptions {
    std::optional<std::string> allow;
    SelectionPolicy policy; ///< with `allow` once it has been understood
    bool only_empty = false;
    std::optional<std::string> from; ///< what a device plugin's word is taken from
    LeaseOptions leases;
    std::optional<ListFormat> list;
    std::optional<std::string> cdi; ///< of which kind; "" is the hook's own
};

/** @param cdi_kind what the vendor's own tools call its devices: "nvidia.com/gpu" */
void add_gpu_options(Hook &hook, const std::string &cdi_kind, GpuOptions &options)
{
    CommandLine &cli = hook.cli();
    cli.add(declared("--allow"), options.allow);
    cli.add(declared("--max-devices"), options.policy.max_devices);
    cli.add(declared("--only-empty"), options.only_empty);
    cli.add(declared("--from"), options.from);
    cli.add(declared("--observer"), hook.options().observers);
    add_lease_options(cli, options.leases);
    add_drain_options(cli, options.leases);
    add_list_options(cli, declared("--list"), declared("--format"), ListFormats::OfGpus, options.list);
    cli.add_choice(declared("--cdi"), {cdi_kind}, [&](const std::string &kind) { options.cdi = kind; });
}

/** @throws Error (Usage) if options are given that only make sense with others, or not beside them */
void check(const GpuOptions &options, const CommonOptions &common)
{
    check_cdi(options.cdi.has_value(), options.list.has_value(), common);
    if (options.from && (common.request || common.opt_in != OptIn::Annotation || options.cdi))
        throw Error(ErrorKind::Usage,
                    "--from goes with none of --request, --opt-in and --cdi: it says who asks");
    check_observers(common.observers);
    const bool is_for_one = common.request && common.opt_in != OptIn::Always;
    if (!common.observers.empty() && (options.cdi || is_for_one))
        throw Error(ErrorKind::Usage,
                    "--observer goes with neither --cdi nor --request without --opt-in always: "
                    "what a container is given by name is not all");
    check(options.leases);
}

/**
 * NVIDIA's programs that have GPUs open only to watch them, where its packages put them. nvidia-persistenced gives its
 * directory to the user that it goes on as; what is in /run is root's to give.
 */
std::vector<Monitor> monitors_of(const Sysroot &sysroot)
{
    struct stat status {};
    const auto directory = sysroot.find("/run/nvidia-persistenced");
    const bool is_known = directory && ::fstat(directory->fd.get(), &status) == 0;
    return {{0, "/usr/bin/nvidia-smi"},
            {0, "/usr/bin/nv-hostengine"},
            {0, "/usr/bin/dcgm-exporter"},
            {is_known ? status.st_uid : 0, "/usr/bin/nvidia-persistenced"}};
}

/** What --list, --cdi, --drain and --undrain do, without a container. */
class GpuAdmin final {
public:
    GpuAdmin(Hook &hook, const GpuVendor &vendor, const GpuOptions &options)
        : hook_(hook), vendor_(vendor), options_(options), sysroot_(hook.sysroot())
    {
    }

    void print_list();

    /** @param words the command line */
    void print_cdi(std::vector<std::string> words);

    void set_drained();

private:
    void note_dead(const std::vector<Candidate> &gpus);
    std::unique_ptr<GpuHost> look(const SelectionPolicy &policy);
    std::vector<Candidate> gpus_if_any();
    std::optional<LeaseList> list_leases(ListFormat format);
    std::map<LeaseKey, std::string> used_without_lease(const GpuHost &host, const LeaseState &leases);

    Hook &hook_;
    const GpuVendor &vendor_;
    const GpuOptions &options_;
    const Sysroot &sysroot_;
};

/** All that there is, and what of it looks dead. */
std::unique_ptr<GpuHost> GpuAdmin::look(const SelectionPolicy &policy)
{
    auto host = vendor_.look_at_all(sysroot_, policy, hook_.notes());
    host->mark_dead(sysroot_, addresses_of(host->candidates()));
    return host;
}

void GpuAdmin::print_list()
{
    const auto host = look(options_.policy);
    HostListing table = host->table(options_.policy);
    const ListFormat format = options_.list.value_or(ListFormat::Table);
    if (format == ListFormat::Tags) // which have no place for it
        note_dead(host->candidates());
    hook_.say_notes();
    const auto leases = list_leases(format);
    if (leases && !leases->scope.empty())
        table.facts.emplace_back("scope", leases->scope + " alone");
    if (leases && !leases->lock_keeper.empty())
        table.facts.emplace_back("lock", "kept by " + leases->lock_keeper + ", which holds up all hooks");
    auto used = leases ? used_without_lease(*host, leases->state) : std::map<LeaseKey, std::string>();
    Hook::print(leases ? to_text(table,
                                 {host->candidates(), options_.policy, *leases, vendor_.traits().tags,
                                  options_.leases.least, std::move(used)},
                                 format)
                       : to_text(format == ListFormat::Screen ? screen_of(table) : table, format));
}

void GpuAdmin::print_cdi(std::vector<std::string> words)
{
    const GpuTraits &traits = vendor_.traits();
    const std::string kind = options_.cdi.value_or("");
    if (!kind.empty())
        check_stand_in(sysroot_, traits.cdi, traits.name);
    std::vector<CdiDevice> devices = gpu_devices(gpus_if_any());
    devices.insert(devices.end(), traits.cdi.devices.begin(), traits.cdi.devices.end());
    const std::string text = cdi_text({.hook = traits.name,
                                       .kind = kind,
                                       .options = std::move(words),
                                       .timeout = hook_timeout(options_.leases.max_wait),
                                       .devices = std::move(devices)},
                                      true, sysroot_, hook_.notes());
    hook_.say_notes();
    Hook::print(text);
}

void GpuAdmin::set_drained()
{
    const bool drained = options_.leases.drain.has_value();
    const std::string gpu = *(drained ? options_.leases.drain : options_.leases.undrain);
    if (hook_.options().only_looks)
        throw Error(ErrorKind::Usage, "--plan changes nothing, and --drain and --undrain do");
    const Selectors selectors =
        parse_allowed_selectors({gpu, drained ? "option '--drain'" : "option '--undrain'"});
    const auto host = look({.allow = selectors});
    hook_.say_notes();
    drain(sysroot_, selectors, host->candidates(), options_.leases);
}

void GpuAdmin::note_dead(const std::vector<Candidate> &gpus)
{
    for (const Candidate &gpu : gpus) {
        if (gpu.looks_dead && !gpu.whole)
            hook_.notes().push_back(
                {LogLevel::Warning, "GPU " + label(gpu) + " is left out: " + gpu.problem});
    }
}

/** The specification is for the day when there is one as well, or it is well, and says nothing of UUIDs then. */
std::vector<Candidate> GpuAdmin::gpus_if_any()
{
    try {
        return vendor_.look_at_all(sysroot_, options_.policy, hook_.notes())->candidates();
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::NotAvailable)
            throw;
        hook_.notes().push_back({LogLevel::Warning, std::string(error.what()) + ", ignoring"});
        return {};
    }
}

/** Where that makes them such as cannot be given, as that takes its time. */
std::map<LeaseKey, std::string> GpuAdmin::used_without_lease(const GpuHost &host, const LeaseState &leases)
{
    if (!options_.only_empty)
        return {};
    const Processes processes;
    const GpuUsers users = host.find_users(processes, Monitors(sysroot_, monitors_of(sysroot_)));
    if (!users.unknown.empty())
        hook_.notes().push_back(
            {LogLevel::Warning, "who uses GPUs is not known, and --only-empty gives none: " + users.unknown});
    hook_.say_notes();
    return used_by_others(processes, leases, users);
}

/** @return nothing where only the GPUs can be shown, which is said */
std::optional<LeaseList> GpuAdmin::list_leases(ListFormat format)
{
    if (format == ListFormat::Tags)
        return LeaseList();
    try {
        LeaseList leases = Leases::look(sysroot_, options_.leases.preemption);
        if (LeaseDirectory::is_possible(sysroot_)) // who sees all processes knows that these have ended
            std::erase_if(leases.entries, [](const LeaseEntry &entry) { return !entry.lives; });
        return leases;
    } catch (const Error &error) {
        // In a user namespace of a rootless engine the host's root is nobody, and its directories are anybody's.
        if (format == ListFormat::Status)
            throw;
        hook_.notes().push_back(
            {LogLevel::Warning, "who has which GPU is not shown: " + std::string(error.what())});
        hook_.say_notes();
        return std::nullopt;
    }
}

/** Understands what is asked for a container. */
class GpuAsk final {
public:
    GpuAsk(Hook &hook, const GpuTraits &traits, const GpuOptions &options)
        : hook_(hook), traits_(traits), options_(options)
    {
    }

    /** @return nothing if there is nothing to do, which stands in the notes */
    std::optional<GpuRequest> read()
    {
        SelectionPolicy policy = options_.policy;
        auto asked = hook_.request();
        if (hook_.options().plugin.from.empty() && hook_.config())
            check_plugin_mounts(asked);
        if (!asked)
            return std::nullopt;
        limit(policy, asked->limits);
        const bool observes = asked->asker == Asker::Observer;
        if (observes)
            policy.max_devices.reset();
        const Selectors written = parse_selectors(asked->what);
        const auto selectors = written.environment ? asked_of_tools() : written;
        if (!selectors || (selectors->none && !traits_.has_use_for_none)) {
            hook_.notes().push_back(
                {LogLevel::Info, std::string("nothing to do: ") +
                                     (selectors ? "no GPU is asked for ('none')"
                                                : "the container's environment asks for no GPU")});
            return std::nullopt;
        }
        if (observes)
            refuse_lease(*asked);
        LeaseRequest lease = observes ? LeaseRequest() : lease_of(*asked, *selectors, policy.max_devices);
        const bool by_environment = written.environment || asked->plugin || (observes && hook_.config());
        return GpuRequest{std::move(*asked), *selectors,     std::move(policy),
                          std::move(lease),  by_environment, hook_.config() ? &*hook_.config() : nullptr};
    }

private:
    /** Where mounts do not ask, a container that has them starts only with what it asks for otherwise. */
    void check_plugin_mounts(const std::optional<Request> &asked)
    {
        const Config &config = *hook_.config();
        if (!asked && !traits_.plugin.is_served_by_tools(config))
            return refuse_plugin_mounts(config, traits_.plugin.names);
        const auto mount = find_plugin_mount(config, traits_.plugin.names);
        if (asked && mount && !asked->is_by_host() && asked->asker != Asker::Observer &&
            trimmed(asked->what.value) != "none")
            hook_.notes().push_back(
                {LogLevel::Warning, "the mount " + quote(*mount) +
                                        " does not count: this host lets containers ask, and "
                                        "no device plugin (--from); the " +
                                        asked->what.origin + " does"});
    }

    [[nodiscard]] LeaseRequest lease_of(const Request &asked, const Selectors &selectors,
                                        const std::optional<unsigned> &max_devices) const
    {
        LeaseRequest request = lease_request(hook_.config(), asked, options_.leases);
        request.max_devices = max_devices;
        request.counted = {traits_.tags.type};
        request.name = lease_name(asked, selectors);
        request.is_for_all = selectors.all;
        request.only_empty = options_.only_empty;
        return request;
    }

    /**
     * Two requests of a container of which each asks for any GPU add up, and the same one that comes twice does not: who
     * asks tells them apart. CDI names a device once.
     */
    [[nodiscard]] std::string lease_name(const Request &asked, const Selectors &selectors) const
    {
        const std::string name = traits_.name;
        if (selectors.all || selectors.allowed)
            return name + (selectors.all ? " all" : " allowed");
        if (selectors.any == 0)
            return "";
        const std::string who = asked.asker == Asker::Always   ? "always"
                                : asked.asker == Asker::Device ? "device"
                                                               : "container";
        return name + " " + any_text(selectors.any, selectors.any_of) + " by " + who;
    }

    std::optional<Selectors> asked_of_tools()
    {
        if (!hook_.config())
            throw Error(ErrorKind::Usage, "'env' needs a container: its state on stdin");
        if (hook_.options().plugin.from.empty())
            refuse_plugin_mounts(*hook_.config(), traits_.plugin.names);
        return traits_.asked_of_tools(*hook_.config());
    }

    Hook &hook_;
    const GpuTraits &traits_;
    const GpuOptions &options_;
};

/** What the host has that the request can mean, and what of that looks dead. @return nullptr if there is nothing to do */
std::unique_ptr<GpuHost> look(const Sysroot &sysroot, const GpuVendor &vendor, const GpuRequest &request,
                              Notes &notes)
{
    auto host = vendor.look(sysroot, request, notes);
    if (host)
        host->mark_dead(sysroot, addresses_meant(request.selectors, host->candidates(), request.policy));
    return host;
}

/** From what is asked to what is done, in one direction. */
void give(Hook &hook, const GpuVendor &vendor, const GpuRequest &request)
{
    const Sysroot &sysroot = hook.sysroot();
    Notes &notes = hook.notes();
    const std::shared_ptr<GpuHost> first = look(sysroot, vendor, request, notes);
    if (!first)
        return hook.say_notes();
    std::shared_ptr<GpuHost> host = first;
    const std::vector<Candidate> none;
    const auto &candidates = first->candidates();
    const Choice choice = resolve(request.selectors, candidates, request.policy, notes);
    auto chosen = first_of(choice);
    std::shared_ptr<Lease> lease;
    if (request.asked.asker == Asker::Observer) {
        note_observer(hook, chosen, candidates);
    } else if (!chosen.empty() && !hook.options().plan) {
        const auto now = [&]() -> const std::vector<Candidate> & { return host ? host->candidates() : none; };
        const auto look_again = [&]() -> const std::vector<Candidate> & {
            host = look(sysroot, vendor, request, notes); // the host may be another one by now
            return now();
        };
        const auto find_users = [&](const Processes &processes) {
            return host ? host->find_users(processes, Monitors(sysroot, monitors_of(sysroot))) : GpuUsers();
        };
        lease = take_lease(hook, choice, candidates, {look_again, find_users}, request.lease);
        chosen = indices_of(lease->devices(), now());
    }
    const auto inputs = host->gather(chosen, hook, notes);
    carry_out(hook, inputs->plan(notes), lease);
}

} // namespace

void GpuHost::mark_dead(const Sysroot &sysroot, const std::set<PciAddress> &addresses)
{
    const auto dead = PciDevices(sysroot).dead_among(addresses);
    for (Candidate &candidate : candidates_) {
        if (dead.contains(candidate.address))
            ogh::mark_dead(candidate);
    }
}

int run_gpu_hook(int argc, const char *const *argv, GpuVendor &vendor)
{
    const GpuTraits &traits = vendor.traits();
    const auto body = [&](Hook &hook) {
        GpuOptions options;
        add_gpu_options(hook, traits.cdi.kind, options);
        vendor.add_options(hook.cli());
        if (!hook.parse(argc, argv))
            return;
        check(options, hook.options());
        vendor.check_options(hook.options(), options.cdi.has_value());
        hook.options().plugin = traits.plugin;
        if (options.from)
            hook.options().plugin.from =
                parse_plugin_sources({*options.from, "option '--from'"}, traits.plugin.names);
        if (options.allow)
            options.policy.allow = parse_allowed_selectors({*options.allow, "option '--allow'"});
        GpuAdmin admin(hook, vendor, options);
        if (options.list)
            admin.print_list();
        else if (options.cdi)
            admin.print_cdi({argv, argv + argc});
        else if (options.leases.drain || options.leases.undrain)
            admin.set_drained();
        else if (const auto request = GpuAsk(hook, traits, options).read())
            give(hook, vendor, *request);
    };
    return run_device_hook(traits.name, traits.description, body);
}

} // namespace ogh
