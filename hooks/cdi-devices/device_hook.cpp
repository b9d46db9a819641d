// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/device_hook.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cdi-devices/device_list.h"
#include "cdi-devices/host/host_files.h"
#include "cdi-devices/image.h"
#include "cdi-devices/plan/combined_edits.h"
#include "cdi-devices/plan/plan.h"
#include "cdi-devices/request/device_choice.h"
#include "cdi-devices/request/device_request.h"
#include "cdi-devices/request/engine_annotations.h"
#include "cdi-devices/spec/folders.h"
#include "hook/gpu_lease.h"
#include "hook/listing.h"

namespace ogh::cdi_devices {

namespace {

struct Options {
    std::vector<std::string> folders;
    std::optional<std::string> allow;
    std::optional<unsigned> max_devices;
    Writable writable = Writable::Stated;
    bool require_env = false;
    bool engine_annotations = false;
    ListOptions list;
};

void add_options(CommandLine &cli, Options &options)
{
    cli.add(
        {"--spec-dir", "DIR",
         "Where CDI specifications are; may be given several times, and the last wins (default: /etc/cdi, "
         "/var/run/cdi)"},
        options.folders);
    cli.add({"--allow", "KIND[=NAME],...", "The only devices that may be handed out (default: every device)"},
            options.allow);
    cli.add({"--max-devices", "N", "How many devices a container may have (default: no limit)"},
            options.max_devices);
    cli.add_choice(
        {"--writable", "NAME",
         "Mounts: stated (where the specification says rw), spec (where it does not say ro) or never "
         "(default: stated)"},
        {"stated", "spec", "never"}, [&](const std::string &name) {
            options.writable = name == "spec"    ? Writable::Spec
                               : name == "never" ? Writable::Never
                                                 : Writable::Stated;
        });
    cli.add_flag(
        "--require-env",
        "Start no container that lacks a variable which a specification sets, as a hook cannot set it "
        "(default: warn)",
        options.require_env);
    cli.add_flag(
        "--engine-annotations",
        "Annotations cdi.k8s.io/... of engines ask as well; not with --only (default: they are not read)",
        options.engine_annotations);
    add_list_options(cli, "Print the devices of this host's specifications, and do nothing else",
                     ListFormats::Common, options.list);
}

Policy policy_of(const Options &options)
{
    Policy policy;
    policy.allow(options.allow);
    policy.at_most(options.max_devices);
    return policy;
}

std::vector<std::string> folders_of(const Options &options)
{
    std::vector<std::string> folders;
    for (const std::string &folder : options.folders)
        folders.push_back(absolute_folder(folder, "--spec-dir"));
    return folders.empty() ? default_folders : folders;
}

PlanContext context_of(const Hook &hook, const Options &options)
{
    PlanContext context{.writable = options.writable, .require_env = options.require_env};
    if (const auto &config = hook.config()) {
        context.user = {.uid = config->user.uid, .gid = config->user.gid};
        context.environment = config->environment;
    }
    return context;
}

/** What the container asks for, by both kinds of annotations. */
DeviceRequest asked_for(const Hook &hook, const RequestValue &asked, const Options &options)
{
    DeviceRequest request = parse_device_request(asked);
    if (!options.engine_annotations || !hook.config())
        return request;
    for (const DeviceName &device : parse_engine_annotations(*hook.config()).devices)
        if (std::find(request.devices.begin(), request.devices.end(), device) == request.devices.end())
            request.devices.push_back(device);
    return request;
}

/** `none`, besides what annotations for engines ask for; nothing if they ask for nothing. */
std::optional<RequestValue> asked_by_engine(const Hook &hook, const Options &options)
{
    if (!options.engine_annotations || parse_engine_annotations(hook.config().value()) == DeviceRequest())
        return std::nullopt;
    return RequestValue{.value = "none", .origin = "annotations 'cdi.k8s.io/...'"};
}

/** What the container gets by these devices. */
Edits planned(Hook &hook, const std::vector<FoundDevice> &chosen, const Sysroot &sysroot,
              const Options &options)
{
    const ContainerEdits edits = combine(chosen);
    const VendorActions actions = vendor_actions(edits.hooks);
    const HostFiles host = look_at_host(edits, actions, sysroot);
    Notes notes;
    Edits plan_of_it = plan(edits, actions, host, context_of(hook, options), notes);
    if (needs_image(actions))
        add_image_edits(actions, host, read_image(hook.look(), actions, notes), hook.read_only(), plan_of_it,
                        notes);
    hook.note(notes);
    return plan_of_it;
}

/** Within --max-devices, with what the container was given before. Nothing where there is no such limit. */
std::shared_ptr<GpuLease> counted(Hook &hook, const DeviceRequest &request, const Policy &policy,
                                  const Sysroot &sysroot)
{
    if (!policy.most() || request.devices.empty() || hook.options().plan)
        return nullptr;
    std::vector<LeaseKey> keys;
    for (const DeviceName &device : request.devices)
        keys.push_back("cdi:" + device.full());
    Notes notes;
    auto lease = count_devices(hook, sysroot, std::move(keys), *policy.most(), notes);
    hook.note(notes);
    return lease;
}

} // namespace

void run(Hook &hook, int argc, char **argv)
{
    Options options;
    add_options(hook.cli(), options);
    if (!hook.parse(argc, argv))
        return;
    check(options.list);
    if (options.engine_annotations && !hook.options().only.empty())
        throw Error(ExitCode::Usage,
                    "--engine-annotations and --only cannot be combined: what engines are asked "
                    "for is not looked at by --only");
    Policy policy = policy_of(options);
    const auto folders = folders_of(options);
    const Sysroot sysroot(hook.options().sysroot);
    Notes notes;
    if (options.list.list) {
        const auto files = read_folders(sysroot, folders, {}, notes);
        hook.note(notes);
        Hook::print(to_text(list_devices(files, policy), options.list.format.value_or(ListFormat::Table)));
        return;
    }
    const auto asked =
        hook.request([&](const Container & /*container*/) { return asked_by_engine(hook, options); });
    if (!asked)
        return;
    policy.allow(asked->limits.allow);
    policy.at_most(asked->limits.max_devices);
    const DeviceRequest request = asked_for(hook, *asked, options);
    hook.watch_time(); // what is mounted may be on any filesystem
    const auto files = read_folders(
        sysroot, folders,
        [&](std::string_view kind, std::string_view name) { return asks_for(request, kind, name); }, notes);
    hook.note(notes);
    const auto chosen = choose(request, DeviceIndex(files), policy);
    const auto lease = counted(hook, request, policy, sysroot);
    hook.carry_out(planned(hook, chosen, sysroot, options));
    if (lease)
        lease->keep();
}

} // namespace ogh::cdi_devices
