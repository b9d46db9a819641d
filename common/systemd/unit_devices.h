// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "edits/device_rule.h"

namespace ogh {

/** One entry of a unit's DeviceAllow; systemd.resource-control(5). */
struct AllowedDevice {
    std::string node;   ///< a path below /dev, or a group of devices: "char-pts"
    std::string access; ///< of "r", "w" and "m"

    bool operator==(const AllowedDevice &) const = default;
};

using AllowedDevices = std::vector<AllowedDevice>;

/** A unit of systemd's, and how systemd restricts the devices of what runs in it. */
struct UnitDevices {
    std::string id;            ///< its name: "libpod-4f.scope"
    std::string control_group; ///< as /proc/PID/cgroup names it
    std::string device_policy; ///< "auto", "closed" or "strict"
    AllowedDevices device_allow;
};

/**
 * Whether the unit is the container's own, and nothing else is in it: a scope, which runtimes make for one container,
 * and of a cgroup of this container's. systemd names the nearest unit above a cgroup; that may be the service of the
 * engine, or of a whole worker.
 * @param scopes what scope_cgroups() has found
 */
bool is_containers_own(const UnitDevices &unit, const std::vector<std::string> &scopes);

/**
 * Whether systemd denies devices in the unit. If it does not, DeviceAllow must be left alone: the first entry would
 * take all other devices away.
 */
bool restricts_devices(const UnitDevices &unit);

/** What DeviceAllow lacks of the rules. Nodes are named by number: the host need not have them. */
AllowedDevices missing_devices(const UnitDevices &unit, const DeviceRules &rules);

} // namespace ogh
