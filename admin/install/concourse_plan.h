// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "install/install_plan.h"

namespace ogh::admin {

/** Where the files for Concourse's worker go without --folder. */
inline constexpr const char *concourse_folder = "/etc/oci-gpu-hooks/concourse-hooks.d";

/**
 * Files of hooks in a folder of their own, and what is to be set for the worker, which reads it when it starts. Every
 * file there is a hook for it.
 * @throws Error (BrokenHost) where something else is in the folder
 */
InstallPlan plan_concourse(const InstallHost &host, const InstallRequest &request);

} // namespace ogh::admin
