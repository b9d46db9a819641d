// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/device_options.h"

#include "base/error.h"
#include "cdi/spec_directories.h"

namespace ogh::cdi_devices {

void add_options(CommandLine &cli, Options &options)
{
    cli.add(
        {"--spec-dir", "DIR",
         "Where CDI specifications are; may be given several times, and the last wins (default: /etc/cdi, "
         "/var/run/cdi)"},
        options.directories);
    cli.add({"--allow", "KIND[=NAME],...", "The only devices that may be given (default: every device)"},
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
    cli.add_flag(
        "--give-gpus",
        "Give GPUs of which another hook knows as well; needs --allow and --max-devices (default: that "
        "hook alone gives them)",
        options.give_gpus);
    cli.add_flag("--ignore-health", "With --give-gpus: give GPUs that look dead as well",
                 options.ignore_health);
    add_lease_options(cli, options.leases);
    add_list_options(cli, "Print the devices of this host's specifications, and do nothing else",
                     ListFormats::Common, options.list);
}

void check(const Options &options, const CommonOptions &common)
{
    check(options.list);
    check(options.leases);
    if (options.engine_annotations && !common.only.empty())
        throw Error(ErrorKind::Usage,
                    "--engine-annotations and --only cannot be combined: what engines are asked "
                    "for is not looked at by --only");
    if (options.ignore_health && !options.give_gpus)
        throw Error(ErrorKind::Usage, "--ignore-health needs --give-gpus");
    if (options.give_gpus && (!options.allow || !options.max_devices))
        throw Error(ErrorKind::Usage,
                    "--give-gpus needs --allow and --max-devices: what the hook for these GPUs "
                    "allows does not count for this one");
}

Policy policy_of(const Options &options)
{
    Policy policy;
    policy.allow(options.allow);
    policy.at_most(options.max_devices);
    return policy;
}

std::vector<std::string> directories_of(const Options &options)
{
    std::vector<std::string> directories;
    for (const std::string &directory : options.directories)
        directories.push_back(absolute_directory(directory, "--spec-dir"));
    return directories.empty() ? cdi::default_directories : directories;
}

} // namespace ogh::cdi_devices
