// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engines/engine.h"

namespace ogh::admin {

/**
 * Whether the executable that a file names is there, can be changed by root alone, is of this version, and can be run on
 * this machine; nothing if all of that is so. It is read, and never run.
 */
Findings check_executable(const Engine &engine, const HookFile &file);

} // namespace ogh::admin
