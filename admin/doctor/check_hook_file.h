// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engines/engine.h"

namespace ogh::admin {

/** A file in force that calls one of our hooks: its policy in words, and what is wrong with it. */
Findings check_hook_file(const Engine &engine, const HookFile &file);

} // namespace ogh::admin
