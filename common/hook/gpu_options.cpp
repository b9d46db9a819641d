// SPDX-License-Identifier: Apache-2.0
#include "hook/gpu_options.h"

#include <sys/stat.h>

#include "base/error.h"
#include "hook/cdi_option.h"
#include "hook/declared_options.h"
#include "request/observers.h"

namespace ogh {

void add_gpu_options(CommandLine &cli, const std::string &cdi_kind, GpuOptions &options)
{
    cli.add(declared("--allow"), options.allow);
    cli.add(declared("--max-devices"), options.max_devices);
    cli.add(declared("--only-empty"), options.only_empty);
    cli.add(declared("--from"), options.from);
    cli.add(declared("--observer"), options.observers);
    add_lease_options(cli, options.leases);
    add_drain_options(cli, options.leases);
    add_list_options(cli, declared("--list"), declared("--format"), ListFormats::OfGpus, options.list);
    cli.add_choice(declared("--cdi"), {cdi_kind}, [&](const std::string &kind) { options.cdi = kind; });
}

void check(const GpuOptions &options, const CommonOptions &common)
{
    check_cdi(options.cdi.has_value(), options.list.has_value(), common);
    if (options.from && (common.request || common.opt_in != OptIn::Annotation || options.cdi))
        throw Error(ErrorKind::Usage,
                    "--from goes with none of --request, --opt-in and --cdi: it says who asks");
    check_observers(options.observers);
    const bool is_for_one = common.request && common.opt_in != OptIn::Always;
    if (!options.observers.empty() && (options.cdi || is_for_one))
        throw Error(ErrorKind::Usage,
                    "--observer goes with neither --cdi nor --request without --opt-in always: "
                    "what a container is given by name is not all");
    check(options.leases);
}

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

DevicePlugin plugin_of(const GpuOptions &options, const GpuTraits &traits)
{
    DevicePlugin plugin{.names = traits.plugin_names, .is_served_by_tools = traits.is_served_by_tools};
    if (options.from)
        plugin.from = parse_plugin_sources({*options.from, "option '--from'"}, plugin.names);
    return plugin;
}

} // namespace ogh
