// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "install/install_plan.h"

namespace ogh::admin {

/**
 * The drop-in for podman that keeps images from asking: each annotation of this collection with the value "-" as a
 * default, behind those that somebody else has in effect.
 * @return nothing where it is not needed
 * @throws Error (BrokenHost) where it would not be in effect
 */
std::optional<PlannedFile> plan_default_annotations(const InstallHost &host, const InstallRequest &request);

} // namespace ogh::admin
