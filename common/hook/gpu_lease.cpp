// SPDX-License-Identifier: Apache-2.0
#include "hook/gpu_lease.h"

#include <sys/stat.h>
#include <unistd.h>
#include <linux/capability.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/duration.h"
#include "base/error.h"
#include "base/text.h"
#include "cgroup/device_cgroups.h"
#include "host/host_file.h"
#include "image/init_process.h"
#include "kernel/process.h"
#include "lease/state/boot_clock.h"
#include "oci/concourse_step.h"
#include "request/availability.h"

namespace ogh {

namespace {

/** The path may be another name of it, or a link to it. */
bool is_this_executable(const std::string &path)
{
    struct stat own {};
    struct stat other {};
    return ::stat("/proc/self/exe", &own) == 0 && ::stat(path.c_str(), &other) == 0 &&
           own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

std::vector<LeaseKey> keys_of(const std::vector<size_t> &places, const std::vector<Candidate> &candidates)
{
    std::vector<LeaseKey> keys;
    keys.reserve(places.size());
    for (const size_t place : places)
        keys.push_back(candidates[place].lease_key);
    return keys;
}

NameDevice namer(const std::vector<Candidate> &candidates)
{
    return [&candidates](const LeaseKey &key) {
        const Candidate *const found = find_by_lease_key(candidates, key);
        return found == nullptr ? key : "GPU " + label(*found);
    };
}

/** What of it cannot be given any more. */
DeviceProblems unfit_of(const std::vector<Candidate> &before, const std::vector<Candidate> &now)
{
    DeviceProblems unfit;
    for (const Candidate &candidate : before) {
        const Candidate *const found = find_by_lease_key(now, candidate.lease_key);
        if (found == nullptr)
            unfit.emplace(candidate.lease_key, "is not there any more");
        else if (!found->problem.empty())
            unfit.emplace(candidate.lease_key,
                          (found->looks_dead ? "" : "cannot be given: ") + found->problem);
    }
    return unfit;
}

/** Adds whom it is for. */
void add_container(LeaseRequest &request, const Hook &hook)
{
    const Config &config = hook.config().value();
    request.init = hook.container().pid;
    request.container = hook.container().id;
    request.idle_init = config.program == concourse_init;
    request.cgroups_path = config.cgroups_path;
    request.label = hook.label();
    request.runtime = hook.parent();
}

/**
 * Whether a process of it can keep a device open that no list of its descriptors has, and get a descriptor of it again: from a
 * ring whose own is closed (IORING_OP_FIXED_FD_INSTALL, Linux 6.8). The sysctl is there since 6.6.
 */
bool can_hide_open_files(const Config &config, const Sysroot &sysroot)
{
    constexpr size_t limit = 16;
    if (config.refuses_io_uring)
        return false;
    const auto disabled = read_host_file(sysroot, "/proc/sys/kernel/io_uring_disabled", limit);
    return disabled && !disabled->starts_with('2');
}

std::shared_ptr<Lease> take(Hook &hook, LeaseRequest &request)
{
    add_container(request, hook);
    check_stage(request.init); // elsewhere the numbers of processes mean others than those in the leases
    request.notes = &hook.notes();
    if (request.wait.count() != 0) {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(request.wait);
        check_timeout(hook.config().value().hooks, seconds);
        hook.extend_time(seconds);
    }
    auto leases = Leases::open(hook.sysroot(), hook.history());
    auto lease =
        std::make_shared<Lease>(take_if_possible(leases ? &*leases : nullptr, request, hook.notes()));
    hook.undo().add([lease] { lease->release(); });
    if (can_hide_open_files(hook.config().value(), hook.sysroot()))
        lease->ends_with_container();
    drop_capabilities({CAP_KILL}); // which only a preemption needs
    return lease;
}

} // namespace

void check_timeout(const std::vector<HookEntry> &hooks, std::chrono::seconds wait)
{
    constexpr std::chrono::seconds reserve{5};
    for (const HookEntry &hook : hooks) {
        if (!hook.timeout || *hook.timeout >= static_cast<std::uint64_t>((wait + reserve).count()) ||
            !is_this_executable(hook.path))
            continue;
        throw Error(ErrorKind::Usage,
                    "the container may wait for " + to_text(wait) +
                        ", and the runtime ends this hook after " + std::to_string(*hook.timeout) +
                        " s; its 'timeout' has to be at least " + std::to_string((wait + reserve).count()) +
                        " s, in its hook configuration file");
    }
}

std::shared_ptr<Lease> take_lease(Hook &hook, const Choice &choice, const std::vector<Candidate> &candidates,
                                  const GpuLooks &looks, LeaseRequest request)
{
    request.find_unfit = [&] { return unfit_of(candidates, looks.again()); };
    if (choice.any != 0 || request.demand.mode == LeaseMode::Exclusive || request.only_empty)
        request.find_users = looks.users;
    request.demand.fixed = keys_of(choice.fixed, candidates);
    request.demand.any = choice.any;
    request.demand.candidates = keys_of(choice.candidates, candidates);
    request.others = keys_of(choice.others, candidates);
    request.name_device = namer(candidates);
    return take(hook, request);
}

std::shared_ptr<Lease> take_lease(Hook &hook, std::vector<LeaseKey> keys, LeaseRequest request,
                                  NameDevice name_device)
{
    request.demand.fixed = std::move(keys);
    request.word = "devices";
    request.name_device = std::move(name_device);
    return take(hook, request);
}

void carry_out(Hook &hook, const Edits &edits, const std::shared_ptr<Lease> &lease)
{
    hook.say_notes();
    hook.carry_out(edits);
    if (!lease)
        return;
    // What is taken away before it was given would be given nevertheless.
    lease->note_rules(leased_rules_of(edits.nodes));
    lease->keep();
}

void note_observer(Hook &hook, const std::vector<size_t> &chosen, const std::vector<Candidate> &candidates)
{
    if (chosen.empty() || hook.options().plan)
        return;
    auto leases = Leases::open(hook.sysroot(), hook.history());
    if (!leases)
        return;
    LeaseRequest request;
    add_container(request, hook);
    request.demand.fixed = keys_of(chosen, candidates);
    leases->observe(request);
    drop_capabilities({CAP_KILL});
}

std::vector<size_t> indices_of(const std::vector<LeaseKey> &keys, const std::vector<Candidate> &candidates)
{
    std::vector<size_t> places;
    for (const LeaseKey &key : keys) {
        const Candidate *const found = find_by_lease_key(candidates, key);
        if (found == nullptr)
            throw Error(ErrorKind::NotAvailable,
                        "the GPU " + quote(key) +
                            " is not there any more: this host has lost it since the "
                            "container asked for it");
        if (!found->problem.empty())
            throw Error(found->problem_kind,
                        "the GPU " + label(*found) + " cannot be given: " + found->problem);
        places.push_back(static_cast<size_t>(found - candidates.data()));
    }
    std::sort(places.begin(), places.end());
    return places;
}

void drain(const Sysroot &sysroot, const Selectors &selectors, const std::vector<Candidate> &candidates,
           const LeaseOptions &options)
{
    const SelectionPolicy everything;
    const Availability availability(candidates, everything);
    std::vector<LeaseKey> keys;
    for (size_t i = 0; selectors.all && i < candidates.size(); ++i)
        keys.push_back(candidates[i].lease_key);
    for (const Selector &selector : selectors.named) {
        const size_t before = keys.size();
        for (const Candidate &candidate : candidates) {
            if (means(selector, candidate, false))
                keys.push_back(candidate.lease_key);
        }
        if (keys.size() == before)
            throw availability.unknown(selector.text);
    }
    Leases::require(sysroot);
    Drain drain{{}, unix_time(), 0, options.drain_reason};
    if (options.drain_time)
        drain.until_ns = boottime_ns() + std::chrono::nanoseconds(*options.drain_time).count();
    Leases leases(sysroot);
    for (LeaseKey &key : keys) {
        drain.key = std::move(key);
        options.drain ? leases.drain(drain) : leases.undrain(drain.key);
    }
}

int run_device_hook(const char *name, const char *description, const std::function<void(Hook &)> &body)
{
    std::vector<unsigned> linux_capabilities(device_cgroup_capabilities.begin(),
                                             device_cgroup_capabilities.end());
    linux_capabilities.push_back(CAP_MKNOD);
    linux_capabilities.push_back(CAP_KILL); // to end an idle container for one that wants its device
    return run_hook(name, description, body, linux_capabilities);
}

} // namespace ogh
