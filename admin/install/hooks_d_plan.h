// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engines/engine.h"
#include "install/changes.h"

namespace ogh::admin {

/**
 * For engines that read hooks_dir: files of /etc/containers/oci/hooks.d for hooks that are to have options or that the
 * engine does not call yet, and then the option that names the directory, where the engine does not read it. Before them,
 * where an image's annotations would count, a list of defaults that keeps images from asking: each annotation of this
 * collection with the value "-", behind those that somebody else has in effect.
 * @throws Error where what is written would not be in effect, or would bring something into force that is broken
 */
InstallPlan plan_hooks_d(const InstallHost &host, const InstallRequest &request, const Engine &engine);

/** @param engine as it is found afterwards @throws Error (BrokenHost) if it does not call each hook by the planned file */
void check_in_force(const std::vector<Change> &changes, const Engine &engine);

} // namespace ogh::admin
