// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engines/engine.h"

namespace ogh::admin {

/** A file in effect that calls one of our hooks: its policy in words, and what is wrong with it. */
Findings check_hook_file(const Engine &engine, const HookFile &file);

/**
 * Asks the hook what it thinks of the options of a file that is to be.
 * @throws Error (Usage) with what is wrong with them on whatever host: an option that there is not, a value that is none
 */
void refuse_wrong_options(const Sysroot &host, const HookFile &file);

} // namespace ogh::admin
