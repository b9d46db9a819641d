// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/device_list.h"

#include <string>

#include "base/error.h"
#include "cdi-devices/plan/combined_edits.h"
#include "cdi-devices/plan/vendor_hooks.h"

namespace ogh::cdi_devices {

namespace {

/** What of it this hook cannot do; "" if it can do all. */
std::string obstacle(const ContainerEdits &edits)
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
    } catch (const Error &) {
        add(true, "hooks");
    }
    return words;
}

} // namespace

HostListing list_devices(const std::vector<SpecFile> &files, const Policy &policy)
{
    HostListing list{"devices", {}, {"device", "nodes", "mounts", "specification", "not done", "state"}, {}};
    const DeviceIndex index(files);
    for (const auto &[name, found] : index.devices()) {
        const ContainerEdits edits = combine({found});
        list.rows.push_back({name.full(), edits.nodes.size(), edits.mounts.size(), found.file->path,
                             known(obstacle(edits)), policy.allows(name) ? "" : "not allowed"});
    }
    for (const auto &[name, both] : index.conflicts())
        list.rows.push_back({name.full(), nullptr, nullptr, both, nullptr, "in two specifications"});
    return list;
}

} // namespace ogh::cdi_devices
