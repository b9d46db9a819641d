// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "engines/engine.h"
#include "engines/installed_hooks.h"
#include "registration/hook_file.h"
#include "report/finding.h"

namespace ogh::admin {

/**
 * Whether the executable that a file names is there, can be changed by root alone, and is of this version; nothing if
 * all of that is so. Where the engine has a root of its own, nothing is run: it is compared with the host's.
 */
Findings check_executable(const Engine &engine, const HookFile &file);

/** Those with whose executable there is nothing wrong: the others are not run. */
std::vector<InstalledHook> runnable_hooks(const std::shared_ptr<const Sysroot> &sysroot,
                                          std::vector<InstalledHook> hooks);

} // namespace ogh::admin
