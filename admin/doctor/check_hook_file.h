// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engines/engine.h"

namespace ogh::admin {

/**
 * Whether the executable that a file names is there, can be changed by root alone, and is of this version; nothing if
 * all of that is so. It is read, and never run.
 */
Findings check_executable(const Engine &engine, const HookFile &file);

/** A file in force that calls one of our hooks: its policy in words, and what is wrong with it. */
Findings check_hook_file(const Engine &engine, const HookFile &file);

} // namespace ogh::admin
