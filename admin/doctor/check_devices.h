// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "engines/installed_hooks.h"
#include "report/finding.h"

namespace ogh::admin {

/**
 * What the hooks give: GPUs with their drivers, folders; whether what --allow names exists; labels of SELinux. Nothing if
 * there is nothing to say.
 * @param hooks that may be run
 */
std::optional<Section> check_devices(const Sysroot &sysroot, const std::vector<InstalledHook> &hooks);

} // namespace ogh::admin
