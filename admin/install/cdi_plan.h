// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "engines/installed_hooks.h"
#include "install/changes.h"

namespace ogh::admin {

/** Whether the hook has --cdi: ldcache-update goes along with the others, and cdi-devices gives what others describe. */
bool has_cdi(const OurHook &hook);

/**
 * What a hook says with --cdi.
 * @param options with which its devices call it; the hook that is run now has those of the policy alone
 * @param kind of --kind; "" for the hook's own
 * @throws Error with the hook's exit status and its message
 */
std::string cdi_of(const Sysroot &sysroot, const OurHook &hook, const std::vector<std::string> &options,
                   const std::string &kind = "");

/**
 * The options with which engines call the hook by files of hooks, without who may ask: a CDI specification is not to give
 * more than these do, and its hook looks and logs where theirs does.
 * @throws Error (BrokenHost) if engines call it with different ones
 */
std::vector<std::string> options_in_force(const std::vector<InstalledHook> &installed, const OurHook &hook);

/** Specifications in /etc/cdi, for Docker and containerd. */
InstallPlan plan_cdi(const InstallHost &host, const InstallRequest &request);

} // namespace ogh::admin
