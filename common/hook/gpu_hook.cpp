// SPDX-License-Identifier: Apache-2.0
#include "hook/gpu_hook.h"

#include <linux/capability.h>

#include <memory>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "cgroup/device_cgroups.h"
#include "hook/cdi_option.h"
#include "hook/cdi_spec.h"
#include "hook/gpu_options.h"
#include "request/selection_policy.h"

namespace ogh {

namespace {

/** One run: what is asked, what of that there is, and what becomes of it. */
class Run final {
public:
    Run(const char *name, Hook &hook, GpuVendor &vendor, const GpuOptions &options)
        : name_(name), hook_(hook), vendor_(vendor), options_(options), sysroot_(hook.options().sysroot),
          notes_(hook.notes())
    {
    }

    void print_list(const SelectionPolicy &policy)
    {
        HostListing list = vendor_.list(sysroot_, policy, notes_);
        say_notes();
        const ListFormat format = options_.list.format.value_or(ListFormat::Table);
        const auto leases = list_leases(format);
        Hook::print(leases ? to_text(list, {vendor_.gpus(), policy, *leases, vendor_.traits().tags}, format)
                           : to_text(list, format));
    }

    /** @param words the command line */
    void print_cdi(std::vector<std::string> words, const SelectionPolicy &policy)
    {
        const VendorCdi &cdi = vendor_.traits().cdi;
        if (!options_.cdi_kind.empty())
            check_stand_in(sysroot_, cdi, name_);
        try {
            static_cast<void>(vendor_.list(sysroot_, policy, notes_));
        } catch (const Error &error) {
            // The specification is for the day when there is one as well, and says nothing of UUIDs then.
            if (error.kind() != ErrorKind::NotAvailable)
                throw;
            notes_.push_back({LogLevel::Warning, std::string(error.what()) + ", ignoring"});
        }
        say_notes();
        std::vector<CdiDevice> devices = gpu_devices(vendor_.gpus());
        devices.insert(devices.end(), cdi.devices.begin(), cdi.devices.end());
        Hook::print(cdi_text({name_, std::move(words), true, options_.leases.max_wait, std::move(devices),
                              options_.cdi_kind, hook_.options().inspect},
                             sysroot_));
    }

    void give(SelectionPolicy policy)
    {
        const auto request = read_request(std::move(policy));
        say_notes();
        if (!request)
            return;
        vendor_.ask(*request, hook_);
        auto candidates = vendor_.find(sysroot_, *request, notes_);
        if (!candidates)
            return say_notes();
        const Choice choice = resolve(request->selectors, *candidates, request->policy, notes_);
        auto chosen = first_of(choice);
        std::shared_ptr<Lease> lease;
        if (!chosen.empty() && !hook_.options().plan) {
            lease = take_lease(hook_, sysroot_, choice, *candidates, request->lease, notes_);
            if (request->lease.terms.wait.count() != 0)
                candidates = vendor_.find(sysroot_, *request, notes_); // the host may be another one by now
            chosen = indices_of(lease->devices(), candidates.value_or(std::vector<Candidate>()));
        }
        const Edits edits = vendor_.plan(chosen, sysroot_, hook_, notes_);
        say_notes();
        hook_.carry_out(edits);
        if (lease)
            lease->keep();
    }

    /** --drain and --undrain */
    void set_drained(const std::string &gpu, bool drained)
    {
        if (hook_.options().inspect)
            throw Error(ErrorKind::Usage, "--inspect changes nothing, and --drain and --undrain do");
        const RequestValue asked{gpu, drained ? "option '--drain'" : "option '--undrain'"};
        const Selectors selectors = parse_allowed_selectors(asked);
        const auto candidates = vendor_.find(sysroot_, {asked, selectors, {}, {}, false}, notes_);
        say_notes();
        drain(sysroot_, selectors, candidates.value_or(std::vector<Candidate>()), drained);
    }

private:
    /** @return nothing where only the GPUs can be shown, which is said */
    std::optional<LeaseList> list_leases(ListFormat format)
    {
        if (format == ListFormat::Tags)
            return LeaseList();
        const PreemptionPolicy preemption = preemption_policy(options_.leases);
        const bool is_root = Leases::are_possible();
        if (is_root && !hook_.options().inspect)
            return Leases(sysroot_).list(preemption);
        try {
            LeaseList leases = Leases::look(sysroot_, preemption);
            if (is_root) // who sees all processes knows that these have ended
                std::erase_if(leases.entries, [](const LeaseEntry &entry) { return !entry.lives; });
            return leases;
        } catch (const Error &error) {
            // In a user namespace of a rootless engine the host's root is nobody, and its folders are anybody's.
            if (format == ListFormat::Status)
                throw;
            notes_.push_back(
                {LogLevel::Warning, "who has which GPU is not shown: " + std::string(error.what())});
            say_notes();
            return std::nullopt;
        }
    }

    /** @return nothing if there is nothing to do, which stands in the notes */
    std::optional<GpuRequest> read_request(SelectionPolicy policy)
    {
        const auto asked = hook_.request();
        const DevicePlugin &plugin = hook_.options().plugin;
        if (plugin.from.empty() && hook_.config())
            check_plugin_mounts(asked, plugin.names);
        if (!asked)
            return std::nullopt;
        limit(policy, asked->limits);
        const Selectors written = parse_selectors(*asked);
        const auto selectors = written.environment ? asked_of_tools() : written;
        if (!selectors || (selectors->none && !vendor_.traits().has_use_for_none)) {
            nothing_to_do(selectors ? "no GPU is asked for ('none')"
                                    : "the container's environment asks for no GPU");
            return std::nullopt;
        }
        const auto max_devices = policy.max_devices;
        return GpuRequest{*asked, *selectors, std::move(policy),
                          lease_details(*asked, *selectors, max_devices),
                          written.environment || asked->plugin};
    }

    /** Where mounts do not ask, a container that has them starts only with what it asks for otherwise. */
    void check_plugin_mounts(const std::optional<RequestValue> &asked, const PluginNames &names)
    {
        const Config &config = *hook_.config();
        if (!asked && !vendor_.is_served_by_vendor(config))
            return refuse_plugin_mounts(config, names);
        const auto mount = find_plugin_mount(config, names);
        if (asked && mount && !hook_.is_by_host(*asked) && trimmed(asked->value) != "none")
            notes_.push_back({LogLevel::Warning, "the mount " + quote(*mount) +
                                                     " does not count: this host lets containers ask, and "
                                                     "no device plugin (--from); the " +
                                                     asked->origin + " does"});
    }

    LeaseDetails lease_details(const RequestValue &asked, const Selectors &selectors,
                               const std::optional<unsigned> &max_devices)
    {
        return {asked_lease_terms(hook_, name_, asked, options_.leases),
                preemption_policy(options_.leases),
                max_devices,
                {vendor_.traits().tags.type},
                lease_name(asked, selectors),
                selectors.all};
    }

    /**
     * Two requests of a container of which each asks for any GPU add up, and the same one that comes twice does not: who
     * asks tells them apart. CDI names a device once.
     */
    [[nodiscard]] std::string lease_name(const RequestValue &asked, const Selectors &selectors) const
    {
        const std::string name = name_;
        if (selectors.all || selectors.allowed)
            return name + (selectors.all ? " all" : " allowed");
        if (selectors.any == 0)
            return "";
        const std::string who = asked.for_all ? "always" : hook_.is_by_host(asked) ? "device" : "container";
        return name + " " + any_text(selectors.any, selectors.any_of) + " by " + who;
    }

    std::optional<Selectors> asked_of_tools()
    {
        if (!hook_.config())
            throw Error(ErrorKind::Usage, "'env' needs a container: its state on stdin");
        return vendor_.asked_of_tools(*hook_.config());
    }

    void say_notes() { hook_.say_notes(); }

    void nothing_to_do(const char *why)
    {
        notes_.push_back({LogLevel::Info, std::string("nothing to do: ") + why});
    }

    const char *name_;
    Hook &hook_;
    GpuVendor &vendor_;
    const GpuOptions &options_;
    Sysroot sysroot_;
    Notes &notes_; ///< the hook's
};

/** What --from says of the vendor's device plugin. */
DevicePlugin plugin_of(const GpuVendor &vendor, const std::optional<std::string> &from)
{
    DevicePlugin plugin{vendor.traits().plugin_names};
    if (from)
        plugin.from = parse_plugin_sources({*from, "option '--from'"}, plugin.names);
    return plugin;
}

} // namespace

int run_gpu_hook(const char *name, const char *description, int argc, const char *const *argv,
                 GpuVendor &vendor)
{
    std::vector<unsigned> linux_capabilities(device_cgroup_capabilities.begin(),
                                             device_cgroup_capabilities.end());
    linux_capabilities.push_back(CAP_MKNOD);
    linux_capabilities.push_back(CAP_KILL); // to end an idle container for one that wants its GPU
    const auto body = [&](Hook &hook) {
        GpuOptions options;
        add_gpu_options(hook.cli(), vendor.traits().cdi.kind, options);
        vendor.add_options(hook.cli());
        if (!hook.parse(argc, argv))
            return;
        check(options, hook.options());
        vendor.check_options(hook.options(), options.cdi);
        hook.set_plugin(plugin_of(vendor, options.from));
        SelectionPolicy policy = policy_of(options.allow, options.max_devices);
        Run run(name, hook, vendor, options);
        if (options.list.list)
            run.print_list(policy);
        else if (options.cdi)
            run.print_cdi({argv, argv + argc}, policy);
        else if (options.leases.drain || options.leases.undrain)
            run.set_drained(options.leases.drain ? *options.leases.drain : *options.leases.undrain,
                            options.leases.drain.has_value());
        else
            run.give(std::move(policy));
    };
    return run_hook(name, description, body, linux_capabilities);
}

} // namespace ogh
