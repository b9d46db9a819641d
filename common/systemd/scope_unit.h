// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/log.h"
#include "edits/device_rule.h"
#include "systemd/manager_connection.h"

namespace ogh {

/**
 * Has systemd allow the devices in the container's own scope too, where it restricts devices there. Otherwise it would
 * take back what the hook has allowed as soon as it writes its own rules again: at `systemctl daemon-reload`, or when
 * somebody changes a limit. It ends with the scope, and so with the container, and cannot be undone before.
 *
 * @param scopes the cgroups that a scope of this container may have; not empty
 * @param rules checked()
 * @return what was done or why not; this never fails, for the container works without
 */
Notes allow_in_scope(ManagerConnection &manager, const std::vector<std::string> &scopes,
                     const DeviceRules &rules);

/**
 * Takes back what allow_in_scope() has said of these devices.
 * @throws Error if that fails: then systemd may allow them again
 */
void deny_in_scope(ManagerConnection &manager, const std::vector<std::string> &scopes,
                   const DeviceRules &rules);

} // namespace ogh
