// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/device_list.h"

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "cdi-devices/host/device_keys.h"
#include "cdi-devices/host/host_files.h"
#include "cdi-devices/plan/node_plan.h"
#include "cdi-devices/plan/vendor_hooks.h"
#include "cdi-devices/request/device_choice.h"

namespace ogh::cdi_devices {

namespace {

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

} // namespace

HostListing list_devices(const std::vector<cdi::SpecFile> &files, const Policy &policy, bool gives_gpus,
                         const Sysroot &sysroot)
{
    HostListing list{
        "devices", {}, {"device", "nodes", "mounts", "keys", "specification", "not done", "state"}, {}};
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

} // namespace ogh::cdi_devices
