// SPDX-License-Identifier: Apache-2.0
#include "hook/gpu_admin.h"

#include <cerrno>
#include <utility>

#include "base/error.h"
#include "hook/cdi_option.h"
#include "hook/cdi_spec.h"
#include "hook/gpu_lease.h"
#include "hook/lease_screen.h"
#include "hook/podman_names.h"
#include "request/availability.h"
#include "request/selection_policy.h"

namespace ogh {

namespace {

bool is_full_or_read_only(int error_number)
{
    return error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG || error_number == EROFS;
}

} // namespace

void GpuAdmin::print_list(const SelectionPolicy &policy)
{
    GpuList list = vendor_.list(sysroot_, policy, hook_.notes());
    const ListFormat format = options_.list.format.value_or(ListFormat::Table);
    if (format == ListFormat::Tags) // which have no place for it
        note_dead(list.gpus);
    hook_.say_notes();
    auto leases = list_leases(format);
    if (leases)
        add_podman_names(*leases);
    if (leases && !leases->scope.empty())
        list.table.facts.emplace_back("scope", leases->scope + " alone");
    if (leases && !leases->lock_keeper.empty())
        list.table.facts.emplace_back("lock",
                                      "kept by " + leases->lock_keeper + ", which holds up all hooks");
    auto used = leases ? used_without_lease(list, leases->state) : std::map<LeaseKey, std::string>();
    Hook::print(leases ? to_text(list.table,
                                 {std::move(list.gpus), policy, *leases, vendor_.traits().tags,
                                  options_.leases.least, std::move(used)},
                                 format)
                       : to_text(format == ListFormat::Screen ? screen_of(list.table) : list.table, format));
}

void GpuAdmin::print_cdi(std::vector<std::string> words, const SelectionPolicy &policy)
{
    const GpuTraits &traits = vendor_.traits();
    if (!options_.cdi_kind.empty())
        check_stand_in(sysroot_, traits.cdi, traits.name);
    std::vector<CdiDevice> devices = gpu_devices(gpus_if_any(policy));
    devices.insert(devices.end(), traits.cdi.devices.begin(), traits.cdi.devices.end());
    const std::string text = cdi_text({traits.name, std::move(words), true, options_.leases.max_wait,
                                       std::move(devices), options_.cdi_kind, hook_.options().inspect},
                                      sysroot_, hook_.notes());
    hook_.say_notes();
    Hook::print(text);
}

void GpuAdmin::set_drained()
{
    const bool drained = options_.leases.drain.has_value();
    const std::string &gpu = drained ? *options_.leases.drain : *options_.leases.undrain;
    if (hook_.options().inspect)
        throw Error(ErrorKind::Usage, "--inspect changes nothing, and --drain and --undrain do");
    const Selectors selectors =
        parse_allowed_selectors({gpu, drained ? "option '--drain'" : "option '--undrain'"});
    const GpuList list = vendor_.list(sysroot_, {.allow = selectors}, hook_.notes());
    hook_.say_notes();
    drain(sysroot_, selectors, list.gpus, options_.leases);
}

void GpuAdmin::note_dead(const std::vector<Candidate> &gpus)
{
    for (const Candidate &gpu : gpus) {
        if (gpu.looks_dead && !gpu.whole)
            hook_.notes().push_back(
                {LogLevel::Warning, "GPU " + label(gpu) + " is left out: " + gpu.problem});
    }
}

/** The specification is for the day when there is one as well, and says nothing of UUIDs then. */
std::vector<Candidate> GpuAdmin::gpus_if_any(SelectionPolicy policy)
{
    policy.ignores_health = true; // a file is for later
    try {
        return vendor_.list(sysroot_, policy, hook_.notes()).gpus;
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::NotAvailable)
            throw;
        hook_.notes().push_back({LogLevel::Warning, std::string(error.what()) + ", ignoring"});
        return {};
    }
}

/** Where that makes them such as cannot be given, as that takes its time. */
std::map<LeaseKey, std::string> GpuAdmin::used_without_lease(const GpuList &list, const LeaseState &leases)
{
    if (!options_.only_empty)
        return {};
    const Processes processes;
    const GpuUsers users = list.find_users(processes, Monitors(sysroot_, monitors_of(options_)));
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
    const PreemptionPolicy preemption = preemption_policy(options_.leases);
    const bool is_root = Leases::are_possible(sysroot_);
    try {
        if (is_root && !hook_.options().inspect)
            return Leases(sysroot_, hook_.history()).list(preemption);
    } catch (const Error &error) {
        if (!is_full_or_read_only(error.error_number()))
            throw;
        hook_.notes().push_back(
            {LogLevel::Warning, "nothing that is seen now can be written down, and no GPU be "
                                "given: " +
                                    std::string(error.what())});
        hook_.say_notes();
    }
    try {
        LeaseList leases = Leases::look(sysroot_, preemption);
        if (is_root) // who sees all processes knows that these have ended
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

} // namespace ogh
