// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/sysroot.h"
#include "registration/hook_file.h"
#include "report/finding.h"

namespace ogh::admin {

/**
 * Whether the executable that a file names is there, can be changed by root alone, and is of this version; nothing if
 * all of that is so. @param sysroot the files as the engine sees them
 */
Findings check_executable(const Sysroot &sysroot, const HookFile &file);

} // namespace ogh::admin
