// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engines/cdi_files.h"
#include "report/finding.h"

namespace ogh::admin {

/** What CDI specifications hand out past the hooks, and whether those that call the hooks are right; nothing if there are none. */
std::optional<Section> check_cdi(const std::shared_ptr<const Sysroot> &sysroot);

/**
 * The engines that give what CDI specifications name and read no files of hooks: docker, containerd. Those that are
 * installed, each with whether CDI is switched on there and with its other ways to GPUs.
 */
std::vector<Section> check_cdi_engines(const Sysroot &sysroot);

} // namespace ogh::admin
