// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engines/installed_hooks.h"
#include "report/finding.h"

namespace ogh::admin {

/**
 * Where an engine calls cdi-devices with --give-gpus: whether that gives GPUs past the policy of the hook for them, as the
 * same engine calls it.
 */
Findings check_given_gpus(const Sysroot &sysroot, const std::vector<InstalledHook> &hooks);

} // namespace ogh::admin
