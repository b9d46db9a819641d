// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engines/engine.h"
#include "install/changes.h"

namespace ogh::admin {

/**
 * Whether containerd is to call the hooks for each container of a runtime, and not for those that get a device of a CDI
 * specification: a runtime is named, or a device plugin says what a container gets (--from).
 */
bool wants_runtime(const InstallRequest &request);

/**
 * A runtime of containerd's plugin for CRI whose containers start from a spec with the hooks: the spec, and then the
 * runtime. That is a file of its own where containerd merges what it imports (2.0), and a part of the main file where a
 * file that it imports would take the place of all that is said of the plugin.
 * @throws Error where a runtime of that name is somebody's, or containerd's own default is not known
 */
InstallPlan plan_runtime(const InstallHost &host, const InstallRequest &request);

/** @throws Error (BrokenHost) if a runtime that the changes write is none of containerd's afterwards, or is another one */
void check_runtime_in_force(const Sysroot &sysroot, const std::vector<Change> &changes);

} // namespace ogh::admin
