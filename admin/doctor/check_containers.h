// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engines/installed_hooks.h"
#include "report/finding.h"

namespace ogh::admin {

/**
 * The containers that run: whether one asks in vain, and of those that asked or have GPUs what they have.
 * @param hooks that may be run
 * @param wanted the beginning of an id: that one alone is told of, whatever it asked for; "" for all
 * @return nothing if there is nothing to say
 * @throws Error (Usage) if no container's id begins so
 */
std::optional<Section> check_containers(const Sysroot &sysroot, const std::vector<InstalledHook> &hooks,
                                        const std::string &wanted);

} // namespace ogh::admin
