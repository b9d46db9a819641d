// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engines/engine.h"
#include "registration/hook_file.h"
#include "report/finding.h"

namespace ogh::admin {

/**
 * Whether the executable that a file names is there, can be changed by root alone, and is of this version; nothing if
 * all of that is so. It is read, and never run.
 */
Findings check_executable(const Engine &engine, const HookFile &file);

} // namespace ogh::admin
