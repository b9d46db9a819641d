// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "engines/installed_hooks.h"
#include "report/report.h"

namespace ogh::admin {

/**
 * What the hooks give, as they say themselves: a GPU, or why none; whether what --allow names exists, and whether
 * cdi-devices gives GPUs past the hooks for them; labels of SELinux. Nothing if there is nothing to say.
 * @param hooks that may be run
 */
std::optional<Section> check_devices(const Sysroot &sysroot, const std::vector<InstalledHook> &hooks);

} // namespace ogh::admin
