// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "engines/engine.h"
#include "registration/hooks.h"

namespace ogh::admin {

/**
 * The file that has engines call the hook with these options; see HookFile. `when` and `timeout` fit them.
 */
std::string hook_file_text(const OurHook &hook, const std::vector<std::string> &options);

/**
 * Has the doctor look at a file before it is written, and at one that is left as it is.
 * @throws Error (BrokenHost) with the first thing that is wrong, and what to do about it
 */
void check_hook_text(const Engine &engine, const std::string &path, const std::string &text);

} // namespace ogh::admin
