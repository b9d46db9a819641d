// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "install/install_plan.h"

namespace ogh::admin {

/**
 * Files of hooks in a folder of their own, for an engine for which every file there is a hook; and what is to be
 * set for it.
 * @throws Error (BrokenHost) where something else is in the folder
 */
InstallPlan plan_one_folder(const InstallHost &host, const InstallRequest &request);

} // namespace ogh::admin
