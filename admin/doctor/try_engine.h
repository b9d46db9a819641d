// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "engines/installed_hooks.h"
#include "report/report.h"

namespace ogh::admin {

/**
 * Starts containers with podman, runc and crun, as far as they are there: one that asks for nothing, one whose key every
 * hook has to refuse, which shows that it was called, and one that asks for what there is. Nothing of them stays.
 * @param hooks as installed_hooks() has them
 * @param wanted the engines to be tried; none for all
 * @throws Error (Usage) for one that cannot be, (BrokenHost) if there is none
 */
std::vector<Section> try_engines(const Sysroot &host, std::vector<InstalledHook> hooks,
                                 const std::vector<std::string> &wanted);

} // namespace ogh::admin
