// SPDX-License-Identifier: Apache-2.0
#include "systemd/unit_devices.h"

#include <algorithm>
#include <iterator>

namespace ogh {

namespace {

/** systemd takes the numbers from such a path, and does not look whether it exists: src/core/bpf-devices.c. */
AllowedDevice allowed_by(const DeviceRule &rule)
{
    const std::string folder = rule.type == DeviceRule::Type::Char ? "/dev/char/" : "/dev/block/";
    AllowedDevice device{folder + std::to_string(rule.major) + ":" + std::to_string(rule.minor), ""};
    if ((rule.access & access_read) != 0)
        device.access += 'r';
    if ((rule.access & access_write) != 0)
        device.access += 'w';
    if ((rule.access & access_mknod) != 0)
        device.access += 'm';
    return device;
}

bool covers(const AllowedDevice &present, const AllowedDevice &wanted)
{
    return present.node == wanted.node &&
           wanted.access.find_first_not_of(present.access) == std::string::npos;
}

} // namespace

bool is_containers_own(const UnitDevices &unit, const std::vector<std::string> &scopes)
{
    return unit.id.ends_with(".scope") &&
           std::find(scopes.begin(), scopes.end(), unit.control_group) != scopes.end();
}

bool restricts_devices(const UnitDevices &unit)
{
    return unit.device_policy != "auto" || !unit.device_allow.empty();
}

AllowedDevices missing_devices(const UnitDevices &unit, const DeviceRules &rules)
{
    AllowedDevices missing;
    for (const DeviceRule &rule : rules) {
        const AllowedDevice wanted = allowed_by(rule);
        const auto covers_it = [&](const AllowedDevice &present) { return covers(present, wanted); };
        if (std::none_of(unit.device_allow.begin(), unit.device_allow.end(), covers_it))
            missing.push_back(wanted);
    }
    return missing;
}

} // namespace ogh
