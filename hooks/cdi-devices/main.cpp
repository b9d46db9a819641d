// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/contains.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "cdi-devices/host/device_keys.h"
#include "cdi-devices/host/host_files.h"
#include "cdi-devices/image.h"
#include "cdi-devices/plan/plan.h"
#include "cdi-devices/plan/vendor_hooks.h"
#include "cdi-devices/request/device_choice.h"
#include "cdi/spec_directories.h"
#include "hook/declared_options.h"
#include "hook/gpu_lease.h"
#include "hook/hook.h"
#include "host/pci_devices.h"
#include "host/sysroot.h"
#include "listing/listing.h"
#include "request/annotations.h"
#include "request/request.h"

namespace ogh::cdi_devices {

namespace {

/** What the host says beside the options of every hook. */
struct Options {
    std::vector<std::string> directories;
    std::optional<std::string> allow;
    std::optional<unsigned> max_devices;
    Writable writable = Writable::Stated;
    bool give_gpus = false;
    bool require_env = false;
    bool engine_annotations = false;
    LeaseOptions leases;
    std::optional<ListFormat> list;
};

void add_options(CommandLine &cli, Options &options)
{
    cli.add(declared("--spec-dir"), options.directories);
    cli.add(declared("--allow", "cdi-devices"), options.allow);
    cli.add(declared("--max-devices"), options.max_devices);
    cli.add_choice(declared("--writable", "cdi-devices"), {"stated", "spec", "never"},
                   [&](const std::string &name) {
                       options.writable = name == "spec"    ? Writable::Spec
                                          : name == "never" ? Writable::Never
                                                            : Writable::Stated;
                   });
    cli.add(declared("--require-env"), options.require_env);
    cli.add(declared("--engine-annotations"), options.engine_annotations);
    cli.add(declared("--give-gpus"), options.give_gpus);
    add_lease_options(cli, options.leases);
    add_list_options(cli, declared("--list"), declared("--format"), ListFormats::Common, options.list);
}

/** @throws Error (Usage) for what does not go together */
void check(const Options &options, const CommonOptions &common)
{
    check(options.leases);
    if (options.engine_annotations && !common.only.empty())
        throw Error(ErrorKind::Usage,
                    "--engine-annotations and --only cannot be combined: what engines are asked "
                    "for is not looked at by --only");
    if (options.give_gpus && (!options.allow || !options.max_devices))
        throw Error(ErrorKind::Usage,
                    "--give-gpus needs --allow and --max-devices: what the hook for these GPUs "
                    "allows does not count for this one");
}

/** @param options as check() accepts them @throws Error (Usage) */
Policy policy_of(const Options &options)
{
    Policy policy;
    policy.allow(options.allow);
    policy.at_most(options.max_devices);
    return policy;
}

/** Where specifications are, in the order in which they count. @throws Error (Usage) */
std::vector<std::string> directories_of(const Options &options)
{
    std::vector<std::string> directories;
    for (const std::string &directory : options.directories)
        directories.push_back(absolute_directory(directory, "--spec-dir"));
    return directories.empty() ? cdi::default_directories : directories;
}

/** What of it this hook cannot do; "" if it can do all. */
std::string obstacle(const cdi::ContainerEdits &edits)
{
    std::string words;
    const auto add = [&](bool is_there, const char *word) {
        if (is_there)
            words += (words.empty() ? "" : ", ") + std::string(word);
    };
    add(!edits.env.empty(), "env");
    add(!edits.groups.empty(), "additionalGids");
    add(edits.intel_rdt, "intelRdt");
    add(!edits.net_devices.empty(), "netDevices");
    try {
        static_cast<void>(vendor_actions(edits.hooks));
    } catch (const Error &) { // who asks for the device is told which
        add(true, "hooks");
    }
    return words;
}

/** What a device is; without keys, where the host is not as the specification says: who asks for it is told. */
DeviceKeys keys_of(const FoundDevice &found, const Sysroot &sysroot)
{
    DeviceKeys keys;
    try {
        Notes notes;
        const HostFiles host = look_at_host(combine({found}), {}, sysroot);
        const std::vector<DeviceNodes> nodes{nodes_of(found, host)};
        keys = find_device_keys(nodes, false, sysroot, notes).front();
        if (!keys.gpu_hook.empty())
            keys = find_device_keys(nodes, true, sysroot, notes).front();
    } catch (const Error &) { // as the comment above says
        keys.keys.clear();
    }
    return keys;
}

/**
 * What --list says: a row for each device of the specifications, with what leases know it by where that can be told.
 * @param gives_gpus --give-gpus
 */
HostListing list_devices(const std::vector<cdi::SpecFile> &files, const Policy &policy, bool gives_gpus,
                         const Sysroot &sysroot)
{
    HostListing list{
        {"devices", {"device", "nodes", "mounts", "keys", "specification", "not done", "state"}}};
    const DeviceIndex index(files);
    for (const auto &[name, found] : index.devices()) {
        const cdi::ContainerEdits edits = combine({found});
        const auto keys = keys_of(found, sysroot);
        const bool is_others = !keys.gpu_hook.empty() && !gives_gpus;
        list.rows.push_back({name.full(), edits.nodes.size(), edits.mounts.size(),
                             known(list_text(keys.keys)), found.file->path, known(obstacle(edits)),
                             is_others             ? keys.gpu_hook + " gives it"
                             : policy.allows(name) ? ""
                                                   : "not allowed"});
    }
    for (const auto &[name, both] : index.conflicts())
        list.rows.push_back({name.full(), nullptr, nullptr, nullptr, both, nullptr, "in two specifications"});
    return list;
}

constexpr const char *hook_name = "cdi-devices";

/** podman takes devices otherwise; before 4.5.1 such annotations are the image's, which no default can keep from it. */
DeviceRequest asked_of_engine(const Hook &hook, const Options &options)
{
    const bool counts = options.engine_annotations && hook.config() && !is_by_podman(*hook.config());
    return counts ? parse_engine_annotations(*hook.config()) : DeviceRequest();
}

/** What the container asks for, by both kinds of annotations. */
DeviceRequest asked_for(const Hook &hook, const Request &asked, const Options &options)
{
    DeviceRequest request = parse_device_request(asked.what);
    const DeviceRequest by_engine = asked_of_engine(hook, options);
    if (!by_engine.devices.empty())
        check_pod(hook_name, *hook.config(), hook.options(), engine_origin);
    for (const DeviceName &device : by_engine.devices)
        add_once(request.devices, device);
    return request;
}

/** `none`, besides what annotations for engines ask for; nothing if they ask for nothing, as far as config.json is known. */
std::optional<Request> asked_by_engine(const Hook &hook, const Options &options)
{
    if (hook.config() && asked_of_engine(hook, options) == DeviceRequest())
        return std::nullopt;
    return Request{Asker::EngineAnnotation, {"none", engine_origin}};
}

/** GPUs have a policy and leases of their own hook, which this one is not to go round. */
void refuse_gpu(const std::string &name, const DeviceKeys &found)
{
    throw Error(ErrorKind::Denied,
                "the device " + quote(name) + " has " + quote(found.gpu_node) + ", which the hook " +
                    found.gpu_hook + " gives: ask for the GPU by the annotation 'io.oci-gpu-hooks." +
                    found.gpu_hook + "'; cdi-devices gives GPUs only where the host says --give-gpus");
}

/** What the container asks of the leases. */
LeaseRequest lease_of(const Hook &hook, const Request &asked, const Policy &policy, const Options &options)
{
    LeaseRequest request = lease_request(hook.config(), asked, options.leases);
    request.max_devices = policy.most();
    request.counted = {"pci", "char", "block", "cdi"};
    if (options.give_gpus)
        request.counted.insert(request.counted.end(), {"nvidia", "amd"});
    return request;
}

/** What the host has of the devices that are asked for: specifications, what they name, and what that is. */
struct FoundDevices {
    PlanInputs inputs;
    std::map<LeaseKey, std::string> keys; ///< the name of a device that each stands for
    std::set<std::string> of_driver = {}; ///< paths of nodes that all devices of a driver have in common
};

/** One container that asks. */
class Giving final {
public:
    Giving(Hook &hook, const Options &options, DeviceRequest request, const Policy &policy)
        : hook_(hook), options_(options), request_(std::move(request)), policy_(policy),
          sysroot_(hook.sysroot())
    {
    }

    /** From what is asked to what is done, in one direction. */
    void give(const LeaseRequest &lease_request)
    {
        FoundDevices found = look();
        std::shared_ptr<Lease> lease;
        if (!found.keys.empty() && !hook_.options().plan) {
            lease = take(found.keys, lease_request);
            if (lease_request.wait.count() != 0)
                found = look_again(found);
        }
        gather(found.inputs);
        Edits edits = plan(found.inputs, hook_.notes());
        for (NodeEdit &node : edits.nodes)
            node.is_of_driver = found.of_driver.contains(node.container_path);
        carry_out(hook_, edits, lease);
    }

private:
    [[nodiscard]] FoundDevices look()
    {
        Notes &notes = hook_.notes();
        const auto files = cdi::read_directories(
            sysroot_, directories_of(options_),
            [&](std::string_view kind, std::string_view name) { return asks_for(request_, kind, name); },
            notes);
        hook_.say_notes();
        const auto chosen = choose(request_, DeviceIndex(files), policy_);
        FoundDevices found;
        found.inputs.edits = combine(chosen);
        found.inputs.actions = vendor_actions(found.inputs.edits.hooks);
        found.inputs.files = look_at_host(found.inputs.edits, found.inputs.actions, sysroot_);
        found.keys = find_keys(chosen, found.inputs.files, found.of_driver);
        if (options_.give_gpus)
            refuse_dead(found.keys);
        hook_.say_notes();
        return found;
    }

    /** The lease is of what the host had before the wait. */
    [[nodiscard]] FoundDevices look_again(const FoundDevices &before)
    {
        FoundDevices now = look();
        if (now.keys != before.keys)
            throw Error(ErrorKind::NotAvailable,
                        "while the container waited, what the host has of the devices that it asks for has "
                        "changed; start it again");
        return now;
    }

    /** @param chosen in the order of the request. @param of_driver see FoundDevices */
    [[nodiscard]] std::map<LeaseKey, std::string> find_keys(const std::vector<FoundDevice> &chosen,
                                                            const HostFiles &host,
                                                            std::set<std::string> &of_driver) const
    {
        std::vector<DeviceNodes> nodes;
        nodes.reserve(chosen.size());
        for (const FoundDevice &found : chosen)
            nodes.push_back(nodes_of(found, host));
        const auto found = find_device_keys(nodes, options_.give_gpus, sysroot_, hook_.notes());
        std::map<LeaseKey, std::string> names;
        for (size_t i = 0; i < found.size(); ++i) {
            of_driver.insert(found[i].of_driver.begin(), found[i].of_driver.end());
            const std::string name = request_.devices[i].full();
            if (!found[i].gpu_hook.empty() && !options_.give_gpus)
                refuse_gpu(name, found[i]);
            for (const LeaseKey &key : found[i].keys)
                names.try_emplace(key, name);
            if (found[i].keys.empty() && found[i].gpu_hook.empty())
                names.emplace("cdi:" + name, name);
        }
        policy_.check_count(names.size());
        return names;
    }

    /** A GPU that looks dead is given by nobody. */
    void refuse_dead(const std::map<LeaseKey, std::string> &names) const
    {
        const PciDevices devices(sysroot_);
        for (const auto &[key, name] : names) {
            const std::string_view gpu = gpu_of(key);
            const bool is_gpu = gpu.starts_with("nvidia:") || gpu.starts_with("amd:");
            const auto address = is_gpu ? parse_pci_address(gpu.substr(gpu.find(':') + 1)) : std::nullopt;
            if (address && devices.ask(*address) == PciAnswer::None)
                throw Error(ErrorKind::NotAvailable, "the device " + quote(name) +
                                                         " looks dead: nothing answers at " +
                                                         to_text(*address) + " on the PCI bus");
        }
    }

    [[nodiscard]] std::shared_ptr<Lease> take(const std::map<LeaseKey, std::string> &names,
                                              const LeaseRequest &lease_request)
    {
        std::vector<LeaseKey> keys;
        keys.reserve(names.size());
        for (const auto &[key, name] : names)
            keys.push_back(key);
        const auto name_of = [names](const LeaseKey &key) {
            const auto found = names.find(key);
            return found == names.end() ? key : quote(found->second) + " (" + key + ")";
        };
        auto lease = take_lease(hook_, std::move(keys), lease_request, name_of);
        hook_.say_notes();
        return lease;
    }

    /** Adds what only this container says, and its image. */
    void gather(PlanInputs &inputs)
    {
        inputs.writable = options_.writable;
        inputs.require_env = options_.require_env;
        inputs.is_read_only = hook_.read_only();
        if (const auto &config = hook_.config()) {
            inputs.user = {.uid = config->user.uid, .gid = config->user.gid};
            inputs.environment = config->environment;
        }
        if (needs_image(inputs.actions))
            inputs.image = read_image(hook_.look(), inputs.actions, hook_.notes());
        if (hook_.config())
            inputs.image.loader.library_path =
                environment_value(*hook_.config(), "LD_LIBRARY_PATH").value_or("");
    }

    Hook &hook_;
    const Options &options_;
    DeviceRequest request_;
    const Policy &policy_;
    const Sysroot &sysroot_;
};

void print_list(Hook &hook, const Options &options)
{
    const Sysroot &sysroot = hook.sysroot();
    Notes &notes = hook.notes();
    const auto files = cdi::read_directories(sysroot, directories_of(options), {}, notes);
    hook.say_notes();
    HostListing list = list_devices(files, policy_of(options), options.give_gpus, sysroot);
    list.none = "no CDI specification in " + quote_list(directories_of(options)) + " has a device";
    Hook::print(to_text(list, options.list.value_or(ListFormat::Table)));
}

/** One run of the hook: its options, what is asked, what the specifications say of it, and what becomes of that. */
void run(Hook &hook, int argc, char **argv)
{
    Options options;
    add_options(hook.cli(), options);
    if (!hook.parse(argc, argv))
        return;
    check(options, hook.options());
    Policy policy = policy_of(options);
    if (options.list)
        return print_list(hook, options);
    OtherwiseAsked otherwise;
    if (options.engine_annotations)
        otherwise = [&] { return asked_by_engine(hook, options); };
    const auto asked = hook.request(otherwise);
    if (!asked)
        return;
    policy.allow(asked->limits.allow);
    policy.at_most(asked->limits.max_devices, "the line of the key in --key-file");
    const DeviceRequest request = asked_for(hook, *asked, options);
    const LeaseRequest lease_request = lease_of(hook, *asked, policy, options);
    hook.watch_time(); // what is mounted may be on any filesystem
    Giving(hook, options, request, policy).give(lease_request);
}

} // namespace

} // namespace ogh::cdi_devices

int main(int argc, char **argv)
{
    return ogh::run_device_hook(ogh::cdi_devices::hook_name,
                                "Gives a container devices by their CDI specifications",
                                [&](ogh::Hook &hook) { ogh::cdi_devices::run(hook, argc, argv); });
}
