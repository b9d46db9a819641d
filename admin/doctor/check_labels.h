// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engines/installed_hooks.h"
#include "report/finding.h"

namespace ogh::admin {

/** Where SELinux is enforced: whether containers may use the folders of mount-srv, "SELINUX" in oci-gpu-hooks(7). */
Findings check_labels(const Sysroot &sysroot, const std::vector<InstalledHook> &hooks);

} // namespace ogh::admin
